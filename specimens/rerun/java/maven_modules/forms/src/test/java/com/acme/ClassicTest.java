package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import java.util.List;
import org.junit.Ignore;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

@RunWith(Parameterized.class)
public class ClassicTest {
    @Parameterized.Parameter
    public int number;

    @Parameterized.Parameters(name = "{index}: {0}")
    public static List<Object[]> numbers() {
        return Arrays.asList(new Object[] {1}, new Object[] {2});
    }

    @Test
    public void first() {
        assertEquals(1, number);
    }

    @Test
    @Ignore("slow")
    public void ignored() {
    }
}
