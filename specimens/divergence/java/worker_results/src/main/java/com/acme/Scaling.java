package com.acme;

final class Scaling {
    private Scaling() {
    }

    static String small(String name) {
        try {
            Thread.sleep(5);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        return name + "-small";
    }
}
