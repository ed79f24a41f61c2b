package com.acme;

import static org.junit.Assert.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.junit.Test;

public class SensorTest {
    @Test
    public void readingIsGood() throws Exception {
        Sensor sensor = new Sensor(Paths.get("/proc/uptime"));
        assertEquals(0, sensor.read());
    }

    @Test
    public void highDigitIsGood() throws Exception {
        Path file = Files.createTempFile("sensor", null);
        Files.write(file, "17.9".getBytes(StandardCharsets.US_ASCII));
        assertEquals(0, new Sensor(file).read());
        Files.delete(file);
    }
}
