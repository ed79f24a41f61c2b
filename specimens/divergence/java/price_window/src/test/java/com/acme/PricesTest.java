package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class PricesTest {
    @Test
    public void nightIsCheap() {
        assertEquals(10, Prices.price(10));
    }

    @Test
    public void nothingIsFree() {
        assertTrue(Prices.price(10) >= 10);
    }
}
