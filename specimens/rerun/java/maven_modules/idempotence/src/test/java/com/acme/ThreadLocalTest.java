package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.FixMethodOrder;
import org.junit.Test;
import org.junit.runners.MethodSorters;

/** The one that runs first leaves an object, too: so the other fails both times where they share a JVM. */
@FixMethodOrder(MethodSorters.NAME_ASCENDING)
public class ThreadLocalTest {
    private static final ThreadLocal<List<Object>> OBJECTS = ThreadLocal.withInitial(ArrayList::new);

    @Test
    public void setAndGet() {
        Object object = new Object();
        OBJECTS.get().add(object);
        assertEquals(object, OBJECTS.get().get(OBJECTS.get().size() - 1));
    }

    @Test
    public void size() {
        OBJECTS.get().add(new Object());
        assertEquals(1, OBJECTS.get().size());
        OBJECTS.get().add(new Object());
        assertEquals(2, OBJECTS.get().size());
    }
}
