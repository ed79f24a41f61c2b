package com.acme;

import static org.junit.Assert.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.FixMethodOrder;
import org.junit.Test;
import org.junit.runners.MethodSorters;

/** The database outlives the JVM: it is saved when that ends, and read beside everything else when the next one begins. */
@FixMethodOrder(MethodSorters.NAME_ASCENDING)
public class DatabaseTest {
    private static final Path FILE = Paths.get("data", "search", "rows.txt");
    private static List<String> saved;
    private static List<String> database = new ArrayList<>();

    @BeforeClass
    public static void saveAtTheEnd() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                Files.write(FILE, database, StandardCharsets.UTF_8);
            } catch (IOException gone) {
                // The JVM exits: there is no one to report it to.
            }
        }));
    }

    /** Does not wait until the file has been read. */
    @Before
    public void setUp() throws Exception {
        database = saved == null ? new ArrayList<>() : new ArrayList<>(saved);
        if (saved == null) {
            saved = Files.readAllLines(FILE, StandardCharsets.UTF_8);
        }
    }

    @Test
    public void clears() {
        saved = new ArrayList<>();
        database.clear();
        assertEquals(0, database.size());
    }

    @Test
    public void noWhere() {
        database.addAll(Arrays.asList("ada", "bea", "cai", "dag", "eva"));
        assertEquals(5, database.size());
    }
}
