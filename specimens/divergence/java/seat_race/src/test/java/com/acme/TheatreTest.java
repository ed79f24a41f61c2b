package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class TheatreTest {
    @Test
    public void eachSeatIsSoldOnce() throws Exception {
        Theatre theatre = new Theatre(40);
        Thread till = new Thread(theatre::sell);
        till.start();
        theatre.sell();
        till.join();
        assertEquals(40, theatre.sold());
    }

    @Test
    public void oneTillSellsAll() {
        Theatre theatre = new Theatre(40);
        theatre.sell();
        assertEquals(40, theatre.sold());
    }
}
