package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

/** Surefire runs this class. */
public class TillTest {
    @Test
    public void adds() {
        assertEquals(2, 1 + 1);
    }
}
