package unflake.layers;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Which assertions may fail, each in one test. */
final class Filter {
    /** From so deep a stack on, not all of it is shown. */
    private static final int DEEPEST = 1000;
    private static final String[] LIBRARIES = {"java.lang.AssertionError", "org.junit.", "junit.framework.", "org.opentest4j.", "org.assertj.", "org.hamcrest."};

    private final Sources sources;
    /** By the place of a test in its order: the places of assertions. */
    private final Map<Integer, Set<Integer>> all = new HashMap<>();
    private volatile Set<Integer> now = Collections.emptySet();
    private volatile Thread runner;

    Filter(Sources sources) {
        this.sources = sources;
    }

    /** What a file says, in each line a test and an assertion. */
    void read(File file) throws IOException {
        for (String line : Files.readAllLines(file.toPath(), StandardCharsets.US_ASCII)) {
            String[] words = line.split("\t");
            all.computeIfAbsent(Integer.valueOf(words[0]), test -> new HashSet<>()).add(Integer.valueOf(words[1]));
        }
    }

    /** This thread begins a test. */
    void begin(int test) {
        runner = Thread.currentThread();
        now = all.getOrDefault(test, Collections.emptySet());
    }

    void end() {
        now = Collections.emptySet();
    }

    boolean lists(Place place) {
        return now.contains(place.site);
    }

    /** Whether an assertion has thrown this by itself. {@code stack}: who has called it. */
    boolean isOwn(Throwable thrown, StackTraceElement[] stack) {
        boolean isOfLibrary = false;
        for (String library : LIBRARIES) {
            isOfLibrary |= thrown.getClass().getName().startsWith(library);
        }
        StackTraceElement[] way = thrown.getStackTrace();
        int inside = way.length;
        for (int at = stack.length; inside > 0 && at > 0 && way[inside - 1].equals(stack[at - 1]); at--) {
            inside--;
        }
        // What the project's code throws when an assertion calls it is none of the assertion's.
        boolean isByProject = inside == way.length;
        for (int at = 0; at < inside; at++) {
            isByProject |= sources.isOwn(way[at]);
        }
        return thrown instanceof AssertionError && isOfLibrary && !isByProject;
    }

    /** Why it may not fail although it is listed; null: it may. {@code stack}: who has called it, from this place on. */
    String why(Throwable thrown, StackTraceElement[] stack, int from) {
        if (Thread.currentThread() != runner) {
            return "it is asked by another thread than the test's";
        }
        return stack.length >= DEEPEST ? "it is too deep in the stack" : Waiting.who(thrown, stack, from);
    }
}
