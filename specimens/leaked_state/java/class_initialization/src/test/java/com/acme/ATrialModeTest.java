package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ATrialModeTest {
    /** Puts the property back, but the class has read it. */
    @Test
    void trial() {
        System.setProperty("acme.mode", "trial");
        try {
            assertEquals(3, new int[Settings.MODE.isEmpty() ? 0 : Settings.LIMIT].length);
        } finally {
            System.clearProperty("acme.mode");
        }
    }

    @Test
    void reload() {
        Prices.reload("article number 7", 70);
        assertEquals(60, Prices.known.size());
    }
}
