package com.acme;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

final class Sensor {
    private final Path file;
    private int broken;

    Sensor(Path file) {
        this.file = file;
    }

    int read() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        String text = new String(bytes, StandardCharsets.US_ASCII);
        String first = text.trim().split(" ")[0];
        int digit = first.charAt(first.length() - 1) - '0';
        if (digit < 4) {
            broken++;
        }
        return broken;
    }
}
