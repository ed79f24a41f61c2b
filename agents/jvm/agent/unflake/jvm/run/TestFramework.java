package unflake.jvm.run;

import java.util.List;

/** A test framework: finds tests and runs them. */
public interface TestFramework {
    /** Receives each test: its key, and class and method as Surefire names them. */
    interface Listing {
        void add(String key, String type, String method);
    }

    boolean owns(String key);

    void list(List<Class<?>> classes, Listing listing) throws Exception;

    /** Runs the tests in this order. Each is reported as started and finished, or not at all. */
    void run(List<RequestedTest> tests, ResultReporter reporter) throws Exception;
}
