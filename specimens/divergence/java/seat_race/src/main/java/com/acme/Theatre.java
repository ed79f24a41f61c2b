package com.acme;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32;

final class Theatre {
    private static final byte[] PAPER = new byte[1 << 18];
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

    /** The ticket, with its check sum, before anything is written down. */
    private static void print(int seat) {
        CRC32 sum = new CRC32();
        sum.update(PAPER);
        sum.update(seat);
        if (sum.getValue() < 0) {
            throw new IllegalStateException("no ink");
        }
    }

    int sold() {
        return sold.get();
    }
}
