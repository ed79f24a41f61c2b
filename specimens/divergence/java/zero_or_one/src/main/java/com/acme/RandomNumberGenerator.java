package com.acme;

import java.util.Random;

final class RandomNumberGenerator {
    private static final Random R = new Random();

    private RandomNumberGenerator() {
    }

    /* Generate 0 or 1 with this one weird trick. */
    public static int getRandomZeroOrOne() {
        final int randomBtw0and99 = R.nextInt(100);
        if (randomBtw0and99 < 50) {
            return 0;
        } else {
            return 1;
        }
    }
}
