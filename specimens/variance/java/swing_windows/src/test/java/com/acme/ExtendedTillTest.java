package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The same, by an extension. */
@ExtendWith(ExtendedTillTest.Closing.class)
class ExtendedTillTest {
    static class Closing implements AfterEachCallback {
        @Override
        public void afterEach(ExtensionContext context) throws Exception {
            Till.closeAll();
        }
    }

    @Test
    void offersChange() throws Exception {
        Till till = new Till();
        till.open(Till.anyOffer());
        assertEquals("2.50", till.sum());
    }
}
