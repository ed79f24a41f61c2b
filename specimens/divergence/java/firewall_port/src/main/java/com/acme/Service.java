package com.acme;

import java.io.IOException;
import java.net.ServerSocket;

final class Service implements AutoCloseable {
    private final ServerSocket socket;

    Service() throws IOException {
        socket = new ServerSocket(0);
    }

    int port() {
        return socket.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
