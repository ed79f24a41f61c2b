package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RpcCompatibilityTest {
    @Test
    @Order(1)
    void version2ClientVersion2Server() {
        ProtocolSignature.resetCache();
        assertEquals(2, ProtocolSignature.versionOf("echo", 2));
    }

    @Test
    @Order(2)
    void version2ClientVersion1Server() {
        assertEquals(1, ProtocolSignature.versionOf("echo", 1));
    }
}
