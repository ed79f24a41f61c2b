package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TillTest {
    private final Till till = new Till();

    @BeforeEach
    void close() throws Exception {
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
