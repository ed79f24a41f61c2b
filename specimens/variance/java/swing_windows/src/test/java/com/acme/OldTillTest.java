package com.acme;

import junit.framework.TestCase;

/** The same with JUnit 3. */
public class OldTillTest extends TestCase {
    private final Till till = new Till();

    @Override
    protected void tearDown() throws Exception {
        Till.closeAll();
    }

    public void testOffersChange() throws Exception {
        till.open(Till.anyOffer());
        assertEquals("2.50", till.sum());
    }
}
