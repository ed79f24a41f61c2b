package com.acme;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

final class Courier {
    private final List<String> log = new ArrayList<>();
    private final int patience;

    Courier(int patience) {
        this.patience = patience;
    }

    /** How many attempts it took. */
    int send(String message, Line line) {
        String id = UUID.randomUUID().toString();
        if (id.charAt(0) < '8') {
            log.add("early " + id);
        }
        int paused = 0;
        int attempt = 1;
        while (!line.takes(message)) {
            paused += Backoff.pause(attempt);
            if (paused > patience) {
                throw new IllegalStateException("gave up after " + attempt + " attempts");
            }
            attempt++;
        }
        log.add("sent");
        return attempt;
    }
}
