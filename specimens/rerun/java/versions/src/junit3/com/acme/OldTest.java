package com.acme;

import junit.framework.TestCase;

public class OldTest extends TestCase {
    private String name;

    protected void setUp() {
        name = getName();
    }

    public void testPasses() {
        assertEquals("testPasses", name);
    }

    public void testFails() {
        fail("on purpose");
    }

    public void testThrows() {
        throw new IllegalStateException("on purpose");
    }
}
