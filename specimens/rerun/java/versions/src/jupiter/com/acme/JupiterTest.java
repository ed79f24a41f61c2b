package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JupiterTest {
    private int setUps;

    @BeforeEach
    void setUp() {
        setUps++;
    }

    @Test
    void passes() {
        assertEquals(1, setUps);
    }

    @Test
    void fails() {
        fail("on purpose");
    }

    @Test
    void raises() {
        throw new IllegalStateException("on purpose");
    }

    @Disabled("on purpose")
    @Test
    void disabled() {
        fail("disabled tests do not run");
    }

    @Test
    void assumes() {
        Assumptions.assumeTrue(setUps > 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void isSmall(int number) {
        assertTrue(number < 2);
    }

    @Nested
    class Inner {
        @Test
        void passes() {
            assertEquals(1, setUps);
        }
    }
}
