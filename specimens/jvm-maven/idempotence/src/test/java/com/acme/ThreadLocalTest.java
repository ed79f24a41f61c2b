package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

public class ThreadLocalTest {
    private static final ThreadLocal<List<Object>> OBJECTS = ThreadLocal.withInitial(ArrayList::new);

    @Test
    public void size() {
        OBJECTS.get().add(new Object());
        assertEquals(1, OBJECTS.get().size());
        OBJECTS.get().add(new Object());
        assertEquals(2, OBJECTS.get().size());
    }
}
