package com.acme;

import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collection;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

@RunWith(Parameterized.class)
public class ParameterizedTest {
    private final int number;

    public ParameterizedTest(int number) {
        this.number = number;
    }

    @Parameters
    public static Collection<Object[]> numbers() {
        return Arrays.asList(new Object[][] {{1}, {2}});
    }

    @Test
    public void isSmall() {
        assertTrue(number < 2);
    }

    @Test
    public void isPositive() {
        assertTrue(number > 0);
    }
}
