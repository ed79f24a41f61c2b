package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Locale;
import java.util.TimeZone;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Each test leaves something behind in the process. */
class SurroundingsTest {
    private static final Logger LOGGER = Logger.getLogger("acme");

    @Test
    void locale() {
        assertEquals("1.5", String.format("%.1f", 1.5));
        Locale.setDefault(Locale.GERMANY);
    }

    @Test
    void zone() {
        assertNotEquals("Asia/Tokyo", TimeZone.getDefault().getID());
        TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
    }

    @Test
    void logger() {
        assertNull(LOGGER.getLevel());
        LOGGER.setLevel(Level.FINE);
    }

    /** A thread cannot be taken back. */
    @Test
    void thread() {
        assertEquals(0, Thread.getAllStackTraces().keySet().stream().filter(one -> one.getName().equals("worker")).count());
        Thread worker = new Thread(() -> {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException over) {
                // It is.
            }
        }, "worker");
        worker.setDaemon(true);
        worker.start();
    }
}
