package com.acme;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

final class Rates implements AutoCloseable {
    private final Map<String, Double> known = new ConcurrentHashMap<>();
    private final ExecutorService fetching = Executors.newSingleThreadExecutor();

    Rates() throws Exception {
        // The line is opened before anything is asked for.
        fetching.submit(() -> pause(100)).get();
    }

    void refresh() {
        fetching.submit(this::fetch);
    }

    private void fetch() {
        pause(20_000);
        known.put("EUR", 1.08);
    }

    static void pause(long microseconds) {
        LockSupport.parkNanos(microseconds * 1000);
    }

    double rate(String currency) {
        Double rate = known.get(currency);
        if (rate == null) {
            return 1;
        }
        return rate;
    }

    @Override
    public void close() {
        fetching.shutdownNow();
    }
}
