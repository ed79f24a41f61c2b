package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;

public class CounterTest {
    private static final AtomicInteger COUNTER = new AtomicInteger();

    @Test
    public void retries() {
        int retries = 0;
        for (int tries = 0; tries < 4; tries++) {
            COUNTER.incrementAndGet();
            retries++;
        }
        assertEquals(retries, COUNTER.get());
    }
}
