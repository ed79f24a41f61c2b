package com.acme;

import java.util.concurrent.atomic.AtomicInteger;

final class Theatre {
    private final boolean[] taken;
    private final AtomicInteger sold = new AtomicInteger();

    Theatre(int seats) {
        taken = new boolean[seats];
    }

    void sell() {
        for (int seat = 0; seat < taken.length; seat++) {
            if (!taken[seat]) {
                print(seat);
                taken[seat] = true;
                sold.incrementAndGet();
            }
        }
    }

    /** The ticket, before anything is written down. */
    private static void print(int seat) {
        double ink = seat;
        for (int drop = 0; drop < 800; drop++) ink += Math.sqrt(ink + drop);
        if (ink < 0) {
            throw new IllegalStateException("no ink");
        }
    }

    int sold() {
        return sold.get();
    }
}
