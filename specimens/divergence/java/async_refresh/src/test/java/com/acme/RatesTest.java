package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RatesTest {
    @Test
    void ratesAreThere() throws Exception {
        try (Rates rates = new Rates()) {
            rates.refresh();
            Rates.pause(20_100);
            assertEquals(1.08, rates.rate("EUR"));
        }
    }

    @Test
    void unknownIsOne() throws Exception {
        try (Rates rates = new Rates()) {
            assertEquals(1, rates.rate("XYZ"));
        }
    }
}
