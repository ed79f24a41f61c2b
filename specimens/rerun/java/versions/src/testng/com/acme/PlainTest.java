package com.acme;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.fail;

import org.testng.SkipException;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.BeforeSuite;
import org.testng.annotations.Test;

public class PlainTest {
    private static int suiteSetUps;
    private int classSetUps;
    private int setUps;

    @BeforeSuite
    public static void setUpSuite() {
        suiteSetUps++;
    }

    @BeforeClass
    public void setUpClass() {
        classSetUps++;
    }

    @AfterClass
    public void tearDownClass() {
        classSetUps--;
    }

    @BeforeMethod
    public void setUp() {
        setUps++;
    }

    @Test
    public void passes() {
        assertEquals(suiteSetUps, 1);
        assertEquals(classSetUps, 1);
    }

    @Test
    public void fails() {
        fail("on purpose");
    }

    @Test
    public void raises() {
        throw new IllegalStateException("on purpose");
    }

    @Test(expectedExceptions = ArithmeticException.class)
    public void raisesAsExpected() {
        throw new ArithmeticException();
    }

    @Test(enabled = false)
    public void disabled() {
        fail("disabled tests do not run");
    }

    @Test
    public void skips() {
        throw new SkipException("on purpose");
    }

    @Test(invocationCount = 3)
    public void repeats() {
        assertEquals(classSetUps, 1);
    }
}
