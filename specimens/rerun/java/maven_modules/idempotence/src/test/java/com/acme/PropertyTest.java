package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import org.junit.Test;

public class PropertyTest {
    @Test
    public void trustStore() {
        assertNull(System.getProperty("acme.trust.store"));
        System.setProperty("acme.trust.store", "certificates");
        assertEquals("certificates", System.getProperty("acme.trust.store"));
    }
}
