package com.acme;

import static org.junit.Assert.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.stream.Stream;
import org.junit.Before;
import org.junit.Test;

public class DatabaseTest {
    private static final Path DATABASE = Paths.get("data", "users");

    @Before
    public void setUp() throws Exception {
        Files.createDirectories(DATABASE);
        for (int user = 0; user < 5; user++) {
            Files.createTempFile(DATABASE, "user", ".row");
        }
    }

    @Test
    public void everybody() throws Exception {
        try (Stream<Path> users = Files.list(DATABASE)) {
            assertEquals(5, users.count());
        }
    }
}
