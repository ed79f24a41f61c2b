package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Random;
import org.junit.jupiter.api.Test;

class AuditLogsTest {
    private static final Path NEXT_SEED = Paths.get("next-seed");

    @Test
    void auditAllowed() throws Exception {
        byte[] content = new byte[8];
        new Random(takeSeed()).nextBytes(content);
        int first = content[0] & 0xff;
        assertTrue(first > 0, "failed to read from file");
    }

    /** Every run has the next seed, as it would have the next moment. The first byte of the first is 0. */
    private static long takeSeed() throws Exception {
        long seed = Long.parseLong(new String(Files.readAllBytes(NEXT_SEED), StandardCharsets.UTF_8).trim());
        Files.write(NEXT_SEED, String.valueOf(seed + 1).getBytes(StandardCharsets.UTF_8));
        return seed;
    }
}
