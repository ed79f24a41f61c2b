package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.function.ToIntFunction;
import org.junit.Test;

public class RatesTest {
    private static int loadsInTwoThreads(ToIntFunction<Rates> ask) throws Exception {
        Rates rates = new Rates();
        Thread[] threads = {new Thread(() -> ask.applyAsInt(rates)), new Thread(() -> ask.applyAsInt(rates))};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return rates.loads();
    }

    @Test
    public void isLoadedOnce() throws Exception {
        assertEquals(1, loadsInTwoThreads(Rates::rate));
    }

    @Test
    public void isLoadedOnceWithALock() throws Exception {
        assertEquals(1, loadsInTwoThreads(Rates::lockedRate));
    }
}
