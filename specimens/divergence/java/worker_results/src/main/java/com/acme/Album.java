package com.acme;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

final class Album {
    private final List<String> pictures = new ArrayList<>();

    List<String> fill(String... names) throws InterruptedException {
        ExecutorService workers = Executors.newFixedThreadPool(names.length);
        for (String name : names) {
            workers.submit(() -> add(name));
        }
        workers.shutdown();
        workers.awaitTermination(10, TimeUnit.SECONDS);
        return pictures;
    }

    private void add(String name) {
        String small = Scaling.small(name);
        synchronized (pictures) {
            pictures.add(small);
        }
    }
}
