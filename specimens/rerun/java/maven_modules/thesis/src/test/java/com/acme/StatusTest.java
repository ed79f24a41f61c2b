package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class StatusTest {
    static final int PORT = 48_231;
    private static ServerSocket left;

    @Test
    void answers() throws Exception {
        if (left == null) {
            left = new ServerSocket(PORT, 1, InetAddress.getLoopbackAddress());
        }
        assertTrue(left.isBound());
    }
}
