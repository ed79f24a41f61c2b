package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.HashMap;
import java.util.Map;
import org.junit.After;
import org.junit.Test;

public class JobsTest {
    private static final Map<Integer, String> IDS = new HashMap<>();
    private static int next;
    private final Map<Integer, String> jobs = new HashMap<>();

    @Test
    public void stops() {
        int id = next++;
        jobs.put(id, "running");
        IDS.put(id, "history");
        int length = 0;
        for (Integer one : IDS.keySet()) {
            length += jobs.get(one).length();
        }
        assertEquals(7, length);
    }

    @After
    public void clean() {
        jobs.clear();
    }
}
