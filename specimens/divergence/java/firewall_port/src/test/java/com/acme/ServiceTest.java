package com.acme;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ServiceTest {
    @Test
    void serviceIsReached() throws Exception {
        try (Service service = new Service()) {
            int port = service.port();
            Firewall firewall = new Firewall();
            assertTrue(firewall.lets(port));
        }
    }

    @Test
    void highPortsAreNotLetThrough() {
        assertFalse(new Firewall().lets(65000));
    }
}
