package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class TillTest {
    @Test
    public void sells() {
        assertEquals(1, new Till().sell("bread"));
    }

    @Test
    public void isBuiltPlainly() {
        assertEquals("plainly", System.getProperty("acme.built"));
    }

    @Test
    public void givesChange() {
        assertEquals("the till has no change", 3, 5 - 3);
    }
}
