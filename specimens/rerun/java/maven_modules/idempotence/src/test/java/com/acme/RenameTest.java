package com.acme;

import static org.junit.Assert.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.junit.Test;

public class RenameTest {
    @Test
    public void renames() throws Exception {
        Path file = Paths.get("data", "report.txt");
        assertTrue("there is no file to be renamed", Files.isRegularFile(file));
        Files.move(file, Paths.get("data", "renamed.txt"));
    }
}
