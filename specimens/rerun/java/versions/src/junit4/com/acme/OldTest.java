package com.acme;

import junit.framework.TestCase;

public class OldTest extends TestCase {
    public void testPasses() {
        assertTrue(true);
    }

    public void testFails() {
        fail("on purpose");
    }
}
