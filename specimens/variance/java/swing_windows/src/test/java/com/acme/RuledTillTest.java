package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.ExternalResource;

/** The same, by a rule. */
public class RuledTillTest {
    @Rule
    public final ExternalResource windows = new ExternalResource() {
        @Override
        protected void after() {
            try {
                Till.closeAll();
            } catch (Exception problem) {
                throw new IllegalStateException(problem);
            }
        }
    };

    @Test
    public void offersChange() throws Exception {
        Till till = new Till();
        till.open(Till.anyOffer());
        assertEquals("2.50", till.sum());
    }
}
