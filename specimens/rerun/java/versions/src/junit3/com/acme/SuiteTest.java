package com.acme;

import junit.framework.Test;
import junit.framework.TestCase;
import junit.framework.TestSuite;

public class SuiteTest {
    public static Test suite() {
        return new TestSuite(Member.class);
    }

    public static class Member extends TestCase {
        public void testFirst() {
            assertTrue(true);
        }

        public void testSecond() {
            fail("on purpose");
        }
    }
}
