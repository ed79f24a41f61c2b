package com.acme;

import static java.util.Arrays.asList;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Table 3.1: the lines that four tests execute in four runs. */
class TableTest {
    @SafeVarargs
    private static void execute(String test, List<Integer>... runs) throws IOException {
        Table.execute(runs[Table.runNumber(test)]);
    }

    @Test
    void a() throws IOException {
        execute("a", asList(2, 3), asList(2, 3), asList(2, 3), asList(2, 3));
    }

    @Test
    void b() throws IOException {
        execute("b", asList(1, 2, 4), asList(1, 2, 4, 5), asList(1, 2, 4, 5), asList(1, 2, 4, 5));
    }

    @Test
    void c() throws IOException {
        execute("c", asList(2, 5), asList(2, 5), asList(1, 2, 4, 5), asList(1, 2, 4, 5));
    }

    @Test
    void d() throws IOException {
        execute("d", asList(2, 3, 4), asList(2, 3, 4), asList(2, 4), asList(2, 3, 4, 6));
    }
}
