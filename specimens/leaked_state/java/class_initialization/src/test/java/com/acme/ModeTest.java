package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ModeTest {
    @Test
    void live() {
        assertEquals("live", Settings.MODE);
    }

    @Test
    void price() {
        assertEquals(7, Prices.known.get("article number 7"));
    }
}
