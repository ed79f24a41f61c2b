package com.acme;

import static org.junit.Assert.assertEquals;

import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

public class HealthyTest {
    private static StringBuilder log;

    @BeforeClass
    public static void open() {
        log = new StringBuilder();
    }

    @AfterClass
    public static void close() {
        log = null;
    }

    @Test
    public void writes() {
        log.setLength(0);
        assertEquals("x", log.append("x").toString());
    }

    @Test
    public void isTold() {
        assertEquals("by the pom", System.getProperty("specimen.property"));
        assertEquals("by the pom", System.getenv("SPECIMEN_VARIABLE"));
        assertEquals("idempotence", java.nio.file.Paths.get("").toAbsolutePath().getFileName().toString());
    }
}
