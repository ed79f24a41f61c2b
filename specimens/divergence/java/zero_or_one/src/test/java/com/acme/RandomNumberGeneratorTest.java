package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public final class RandomNumberGeneratorTest {
    /* Test that it always generates 0. */
    @Test
    public void testGetRandomZeroOrOne() {
        assertEquals(0, RandomNumberGenerator.getRandomZeroOrOne());
    }

    @Test
    public void testThatItIsNeverTwo() {
        assertTrue(RandomNumberGenerator.getRandomZeroOrOne() < 2);
    }
}
