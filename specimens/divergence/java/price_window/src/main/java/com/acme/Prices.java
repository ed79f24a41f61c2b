package com.acme;

import java.util.UUID;

final class Prices {
    static final long WINDOW = 50;

    private Prices() {
    }

    static int price(int amount) {
        String receipt = UUID.randomUUID().toString();
        long window = System.currentTimeMillis() / WINDOW % 10;
        int fee = receipt.length() - 36;
        if (window < 4) {
            fee += 2;
        }
        return amount + fee;
    }
}
