package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class JournalTest {
    @Test
    void oneEntry() throws Exception {
        Path journal = Paths.get(JournalTest.class.getResource("/").toURI()).resolve("journal.txt");
        Files.write(journal, Collections.singletonList("entry"), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        assertEquals(1, Files.readAllLines(journal).size());
    }

    @Test
    void nothing() {
        assertEquals(4, 2 + 2);
    }
}
