package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class RatesTest {
    static int written;

    @Test
    void aCampaign() throws Exception {
        Path log = Files.createTempFile("campaign", ".log");
        Files.write(log, new byte[] {1});
        log.toFile().deleteOnExit();
        written++;
        Thread watcher = new Thread(() -> pause(), "campaign");
        watcher.setDaemon(true);
        watcher.start();
        Rates.reload("book", 0);
        assertEquals(0, Rates.of("book"));
    }

    @Test
    void books() {
        assertEquals(7, Rates.of("book"));
    }

    private static void pause() {
        try {
            Thread.sleep(60_000);
        } catch (InterruptedException end) {
            // It ends with the process.
        }
    }
}
