package com.acme;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertTrue;

import org.testng.annotations.BeforeClass;
import org.testng.annotations.Test;

public class VisitingTest {
    private boolean ready;

    @BeforeClass
    public void prepare() {
        ready = true;
    }

    /** Fails after {@code FillingTest#fills}. */
    @Test
    public void isEmpty() {
        assertTrue(Registry.NAMES.isEmpty());
    }

    /** Fails when it runs again. */
    @Test
    public void visitsOnce() {
        assertTrue(ready);
        assertEquals(++Registry.visits, 1);
    }
}
