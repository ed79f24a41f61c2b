package com.acme;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The tests that come before leave the port of the server in use. */
class WebServerTest {
    private static ServerSocket server;

    @BeforeAll
    static void startServer() {
        try {
            server = new ServerSocket(StatusTest.PORT, 1, InetAddress.getLoopbackAddress());
        } catch (IOException inUse) {
            System.err.println("server failed to start: " + inUse.getMessage());
        }
    }

    @Test
    void invalidPath() {
        assertNotNull(server, "nobody listens");
    }
}
