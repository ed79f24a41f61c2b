package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CatalogueTest {
    static class Article {
        String name;
        int price;
    }

    /** Every JVM has this order today, and none promises it. */
    @Test
    void printsPrices() {
        Map<String, Integer> prices = new HashMap<>();
        prices.put("a", 1);
        prices.put("b", 2);
        assertEquals("{a=1, b=2}", prices.toString());
    }

    @Test
    void listsFields() {
        StringBuilder names = new StringBuilder();
        for (Field field : Article.class.getDeclaredFields()) {
            names.append(field.getName()).append(' ');
        }
        assertEquals("name price ", names.toString());
    }

    /** Keeps the order of insertion, whatever the order of hash collections is. */
    @Test
    void keepsInsertionOrder() {
        Map<String, Integer> prices = new LinkedHashMap<>();
        prices.put("b", 2);
        prices.put("a", 1);
        assertEquals("{b=2, a=1}", prices.toString());
    }
}
