package com.acme;

/** No framework: Surefire runs it by the names of its methods, all of them on one object. */
public class PlainTest {
    private static int objects;
    private int setUps;
    private int tearDowns;

    public PlainTest() {
        objects++;
    }

    public void setUp() {
        setUps++;
    }

    public void tearDown() {
        tearDowns++;
    }

    public void testIsSetUp() {
        check(setUps == tearDowns + 1);
    }

    public void testSharesItsObject() {
        check(objects == 1);
    }

    public void testFails() {
        check(false);
    }

    public void testThrows() {
        throw new IllegalStateException("on purpose");
    }

    public int testReturnsANumber() {
        throw new IllegalStateException("not a test");
    }

    public void looksLikeNoTest() {
        throw new IllegalStateException("not a test");
    }

    private static void check(boolean holds) {
        if (!holds) {
            throw new AssertionError("on purpose");
        }
    }
}
