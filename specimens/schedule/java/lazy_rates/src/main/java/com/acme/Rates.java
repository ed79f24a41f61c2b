package com.acme;

import java.util.concurrent.atomic.AtomicInteger;

final class Rates {
    private final AtomicInteger loads = new AtomicInteger();
    private volatile Integer rate;

    /** Checks and loads in two steps. */
    int rate() {
        if (rate == null) {
            int loaded = load();
            rate = loaded;
        }
        return rate;
    }

    synchronized int lockedRate() {
        return rate();
    }

    private int load() {
        loads.incrementAndGet();
        return 19;
    }

    int loads() {
        return loads.get();
    }
}
