package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Leaves no window behind. */
class TidyTillTest {
    private final Till till = new Till();

    @AfterEach
    void tearDown() throws Exception {
        Till.closeAll();
    }

    @Test
    void teaIsCharged() throws Exception {
        till.open("Today: scones");
        assertEquals("2.50", till.sum());
    }

    @Test
    void offersChange() throws Exception {
        till.open(Till.anyOffer());
        assertEquals("2.50", till.sum());
    }
}
