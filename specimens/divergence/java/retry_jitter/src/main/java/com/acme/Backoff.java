package com.acme;

import java.util.concurrent.ThreadLocalRandom;

/** How long to wait before the next attempt. */
final class Backoff {
    private Backoff() {
    }

    static int pause(int attempt) {
        int base = 10 * attempt;
        int jitter = ThreadLocalRandom.current().nextInt(100);
        return base + jitter;
    }
}
