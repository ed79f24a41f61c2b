package com.acme;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WindowTest {
    private final Shop shop = new Shop();

    @Test
    void window() {
        assertEquals(358, shop.width());
        assertAll(
            () -> assertEquals(22, shop.tip()),
            () -> assertTrue(shop.total() > 0));
        assertEquals(30, shop.total());
    }
}
