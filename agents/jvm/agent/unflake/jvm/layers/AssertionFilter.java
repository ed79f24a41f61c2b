package unflake.jvm.layers;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The assertions that are allowed to fail, by test. */
final class AssertionFilter {
    /** The JVM does not show all of a stack that is this deep. */
    private static final int MAX_STACK_DEPTH = 1000;
    private static final String[] LIBRARY_PACKAGES = {"java.lang.AssertionError", "org.junit.", "junit.framework.", "org.opentest4j.", "org.assertj.", "org.hamcrest."};

    private final SourceIndex sources;
    /** Assertion numbers by the position of a test in its order. */
    private final Map<Integer, Set<Integer>> sitesByTest = new HashMap<>();
    private volatile Set<Integer> currentSites = Collections.emptySet();
    private volatile Thread testThread;

    AssertionFilter(SourceIndex sources) {
        this.sources = sources;
    }

    /** Reads a file with a test and an assertion on each line. */
    void read(File file) throws IOException {
        for (String line : Files.readAllLines(file.toPath(), StandardCharsets.US_ASCII)) {
            String[] columns = line.split("\t");
            sitesByTest.computeIfAbsent(Integer.valueOf(columns[0]), test -> new HashSet<>()).add(Integer.valueOf(columns[1]));
        }
    }

    /** The current thread starts a test. */
    void testStarted(int test) {
        testThread = Thread.currentThread();
        currentSites = sitesByTest.getOrDefault(test, Collections.emptySet());
    }

    void testFinished() {
        currentSites = Collections.emptySet();
    }

    boolean contains(AssertionSite site) {
        return currentSites.contains(site.number);
    }

    /** Whether the assertion itself has thrown this. {@code stack}: its callers. */
    boolean isOwn(Throwable thrown, StackTraceElement[] stack) {
        boolean isLibraryError = false;
        for (String library : LIBRARY_PACKAGES) {
            isLibraryError |= thrown.getClass().getName().startsWith(library);
        }
        StackTraceElement[] trace = thrown.getStackTrace();
        int inside = trace.length;
        for (int index = stack.length; inside > 0 && index > 0 && trace[inside - 1].equals(stack[index - 1]); index--) {
            inside--;
        }
        // An exception of project code that an assertion calls is not the assertion's own.
        boolean isThrownByProject = inside == trace.length;
        for (int index = 0; index < inside; index++) {
            isThrownByProject |= sources.isOwn(trace[index]);
        }
        return thrown instanceof AssertionError && isLibraryError && !isThrownByProject;
    }

    /**
     * Why a listed assertion must not be ignored; null if it may be. {@code stack}: the callers of
     * the assertion, which start at {@code from}.
     */
    String rejection(Throwable thrown, StackTraceElement[] stack, int from) {
        if (Thread.currentThread() != testThread) {
            return "it runs in another thread than the test";
        }
        return stack.length >= MAX_STACK_DEPTH ? "it is too deep in the stack" : FailureCatchers.find(thrown, stack, from);
    }
}
