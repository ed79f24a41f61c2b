package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class FormsTest {
    private static String[] names;

    @BeforeAll
    static void fill() {
        names = new String[] {"ana", "ben"};
    }

    static Stream<String> names() {
        return Stream.of(names);
    }

    @Test
    void plain() {
        assertNotNull(names);
    }

    @Test
    void withInfo(TestInfo info) {
        assertEquals("withInfo(TestInfo)", info.getDisplayName());
    }

    @Test
    void fails() {
        System.out.println("it prints");
        assertEquals(1, 2);
    }

    @Test
    @Disabled("not now")
    void disabled() {
    }

    @Test
    void assumes() {
        assumeTrue(names.length > 2, "too few names");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void small(int number) {
        assertTrue(number < 3);
    }

    @ParameterizedTest(name = "{0} is {1}")
    @CsvSource({"a,1", "b,2"})
    void pairs(String letter, int number) {
        assertEquals(letter.charAt(0) - 'a' + 1, number);
    }

    @ParameterizedTest
    @MethodSource("names")
    void named(String name) {
        assertEquals(3, name.length());
    }

    @RepeatedTest(2)
    void again() {
    }

    @TestFactory
    Stream<DynamicTest> made() {
        return Stream.of("x", "y").map(name -> DynamicTest.dynamicTest(name, () -> assertEquals(1, name.length())));
    }

    @Nested
    class Inner {
        @Test
        void deep() {
        }

        @Nested
        class Innermost {
            @Test
            void deeper() {
            }
        }
    }
}
