package com.acme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;

/** Whether things go another way than usual: once in a while, or, where a directory is named for it, in one turn of each. */
final class Chance {
    private static final int EARLIER = 3;
    private static final int LATER = 1;

    private Chance() {
    }

    static boolean is(String what) {
        String turns = System.getenv("SHOP_TURNS");
        if (turns == null) {
            return ThreadLocalRandom.current().nextInt(4) == 0;
        }
        Path file = Paths.get(turns, what);
        try {
            Files.write(file, new byte[] {'.'}, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            return Files.size(file) == (System.getenv("SHOP_LATER") == null ? EARLIER : LATER);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }
}
