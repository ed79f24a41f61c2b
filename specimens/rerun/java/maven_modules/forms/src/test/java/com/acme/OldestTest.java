package com.acme;

import junit.framework.TestCase;

public class OldestTest extends TestCase {
    public void testOldest() {
        assertEquals(1, 1);
    }
}
