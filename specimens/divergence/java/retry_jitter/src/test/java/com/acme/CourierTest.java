package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class CourierTest {
    @Test
    void aLostMessageIsSentAgain() {
        Courier courier = new Courier(140);
        assertEquals(3, courier.send("hello", new Line(2)));
    }

    @Test
    void aMessageIsSent() {
        assertEquals(1, new Courier(140).send("hello", new Line(0)));
    }
}
