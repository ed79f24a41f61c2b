package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TillTest {
    @Test
    void wineIsSold() {
        Till till = new Till();
        assertTrue(till.sell(Customers.anyCustomer(), "wine"));
    }

    @Test
    void breadIsSold() {
        assertTrue(new Till().sell(Customers.anyCustomer(), "bread"));
    }
}
