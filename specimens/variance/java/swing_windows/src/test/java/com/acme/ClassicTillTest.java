package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.After;
import org.junit.Test;

/** The same with JUnit 4. */
public class ClassicTillTest {
    private final Till till = new Till();

    @After
    public void close() throws Exception {
        Till.closeAll();
    }

    @Test
    public void offersChange() throws Exception {
        till.open(Till.anyOffer());
        assertEquals("2.50", till.sum());
    }
}
