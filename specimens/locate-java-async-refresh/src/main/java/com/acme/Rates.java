package com.acme;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

final class Rates implements AutoCloseable {
    private final Map<String, Double> known = new ConcurrentHashMap<>();
    private final ExecutorService fetching = Executors.newSingleThreadExecutor();

    Rates() throws Exception {
        // The line is opened before anything is asked for.
        fetching.submit(() -> pause(1)).get();
    }

    void refresh() {
        fetching.submit(this::fetch);
    }

    private void fetch() {
        pause(20);
        known.put("EUR", 1.08);
    }

    static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
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
