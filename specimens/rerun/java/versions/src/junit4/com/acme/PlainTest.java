package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.fail;

import org.junit.AfterClass;
import org.junit.Assume;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.Ignore;
import org.junit.Test;

public class PlainTest {
    private static int classSetUps;
    private int setUps;

    @BeforeClass
    public static void setUpClass() {
        classSetUps++;
    }

    @AfterClass
    public static void tearDownClass() {
        classSetUps--;
    }

    @Before
    public void setUp() {
        setUps++;
    }

    @Test
    public void passes() {
        assertEquals(1, setUps);
        assertEquals(1, classSetUps);
    }

    @Test
    public void fails() {
        fail("on purpose");
    }

    @Test
    public void raises() {
        throw new IllegalStateException("on purpose");
    }

    @Test(expected = ArithmeticException.class)
    public void raisesAsExpected() {
        throw new ArithmeticException();
    }

    @Ignore("on purpose")
    @Test
    public void ignored() {
        fail("ignored tests do not run");
    }

    @Test
    public void assumes() {
        Assume.assumeTrue(setUps == 1);
    }
}
