package unflake.jvm.testng;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Identifies a test, and names the tests that must run before it. */
final class TestKey {
    static final String PREFIX = "testng:";

    /** How often TestNG invokes a method. */
    enum Invocations {
        /** Once, so that TestNG can repeat it in place. */
        SINGLE,
        /** Several times in a row: rows of a data provider, an invocation count, retries. */
        ROWS,
        /** For several objects of its class, perhaps with other tests in between. */
        OBJECTS
    }

    /** The position of its {@code <test>} among those of all suites. */
    final int test;
    final String testClass;
    final String method;
    final Invocations invocations;
    /** The tests it depends on, directly or not, in an order in which they can run. */
    final List<String> prerequisites;

    TestKey(int test, String testClass, String method, Invocations invocations, List<String> prerequisites) {
        this.test = test;
        this.testClass = testClass;
        this.method = method;
        this.invocations = invocations;
        this.prerequisites = prerequisites;
    }

    static TestKey parse(String text) {
        String[] parts = text.substring(PREFIX.length()).split("\\|", -1);
        String[] name = parts[2].split("/");
        List<String> prerequisites = parts[3].isEmpty() ? new ArrayList<>() : Arrays.asList(parts[3].split(","));
        return new TestKey(Integer.parseInt(parts[0]), name[0], name[1], Invocations.valueOf(parts[1]), prerequisites);
    }

    /** The name of a test within its {@code <test>}. */
    static String name(String testClass, String method) {
        return testClass + "/" + method;
    }

    boolean isSingle() {
        return invocations == Invocations.SINGLE;
    }

    String name() {
        return name(testClass, method);
    }

    @Override
    public String toString() {
        return PREFIX + test + "|" + invocations + "|" + name() + "|" + String.join(",", prerequisites);
    }
}
