package com.acme;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.junit.Test;

/** Each test uses a place that copies of it use, too: a file, a directory, a port. */
public class PlacesTest {
    private static void hold() throws InterruptedException {
        Thread.sleep(100);
    }

    @Test
    public void file() throws Exception {
        Path path = Paths.get("/tmp/unflake-places-file-java");
        String mine = Integer.toString(System.identityHashCode(this)) + System.nanoTime();
        Files.write(path, mine.getBytes());
        hold();
        assertEquals(mine, new String(Files.readAllBytes(path)));
        Files.delete(path);
    }

    @Test
    public void directory() throws Exception {
        File reports = new File("reports");
        new File(reports, "daily").delete();
        reports.delete();
        assertTrue(reports.mkdir());
        hold();
        assertTrue(new File(reports, "daily").mkdir());
        assertArrayEquals(new String[] {"daily"}, reports.list());
    }

    @Test
    public void port() throws Exception {
        try (ServerSocket server = new ServerSocket(18944, 1, InetAddress.getLoopbackAddress())) {
            hold();
            assertEquals(18944, server.getLocalPort());
        }
    }
}
