package com.acme;

import static org.testng.Assert.assertTrue;

import org.testng.annotations.Factory;
import org.testng.annotations.Test;

/** Objects of a factory, whose tests take turns. */
public class MadeTest {
    private final int number;

    public MadeTest(int number) {
        this.number = number;
    }

    @Factory
    public static Object[] make() {
        return new Object[] {new MadeTest(1), new MadeTest(2), new MadeTest(3)};
    }

    @Test
    public void small() {
        assertTrue(number < 3);
    }

    @Test
    public void positive() {
        assertTrue(number > 0);
    }
}
