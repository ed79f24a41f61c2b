package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Each test leaves something behind in another kind of object. */
class HeapTest {
    static final class Till {
        private int sales;
    }

    static final class Shop {
        private final Map<String, Till> tills = new HashMap<>();
        private final List<Integer> days = new ArrayList<>();
    }

    enum Level {
        LOW, HIGH;

        private int uses;
    }

    /** Nobody but a test may ask for its hash. */
    static final class Key {
        @Override
        public boolean equals(Object other) {
            return asked() && this == other;
        }

        @Override
        public int hashCode() {
            return asked() ? 7 : 0;
        }

        private static boolean asked() {
            for (StackTraceElement frame : new Throwable().getStackTrace()) {
                if (frame.getClassName().startsWith("com.acme.HeapTest") && frame.getMethodName().equals("keys")) {
                    return true;
                }
            }
            throw new IllegalStateException("asked by somebody else");
        }
    }

    static final class Holder {
        static final Holder INSTANCE = new Holder();
        private StringBuilder log = new StringBuilder();
    }

    private static final Shop SHOP = new Shop();
    private static final String[] NAMES = {"ada", "bea"};
    private static final Set<String> SEEN = new HashSet<>();
    private static final AtomicReference<String> LAST = new AtomicReference<>();
    private static final Map<Key, String> BY_KEY = new HashMap<>();

    static {
        SHOP.tills.put("north", new Till());
        SHOP.days.add(1);
    }

    @Test
    void field() {
        assertEquals(1, ++SHOP.tills.get("north").sales);
    }

    @Test
    void list() {
        SHOP.days.add(2);
        assertEquals(2, SHOP.days.size());
    }

    @Test
    void element() {
        assertEquals("ada", NAMES[0]);
        NAMES[0] = "eva";
    }

    @Test
    void set() {
        assertTrue(SEEN.add("x"));
    }

    @Test
    void reference() {
        assertNull(LAST.getAndSet("x"));
    }

    @Test
    void constant() {
        assertEquals(1, ++Level.HIGH.uses);
    }

    @Test
    void keys() {
        BY_KEY.put(new Key(), "x");
        assertEquals(1, BY_KEY.size());
    }

    @Test
    void builder() {
        assertEquals("x", Holder.INSTANCE.log.append("x").toString());
    }
}
