package com.acme;

import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class LampTest {
    private final Shop shop = new Shop();

    @Test
    public void lamp() {
        assertTrue(shop.isOpen());
        assertTrue("it sells something", shop.total() > 0);
    }
}
