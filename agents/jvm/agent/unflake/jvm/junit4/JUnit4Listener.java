package unflake.jvm.junit4;

import java.util.List;
import org.junit.runner.Description;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;

/** Reports the notifications of JUnit 4 about the tests of one class. */
final class JUnit4Listener extends RunListener {
    private final String testClass;
    private final List<RequestedTest> tests;
    private final List<Description> order;
    private final ResultReporter reporter;
    /** Number of tests that have started. */
    private int started;
    private boolean running;
    private Throwable failure;
    private Throwable assumption;
    private Throwable classError;

    JUnit4Listener(String testClass, List<RequestedTest> tests, List<Description> order, ResultReporter reporter) {
        this.testClass = testClass;
        this.tests = tests;
        this.order = order;
        this.reporter = reporter;
    }

    @Override
    public void testStarted(Description test) {
        if (started < tests.size() && order.get(started).equals(test)) {
            reporter.start(tests.get(started), testClass);
            started++;
            running = true;
            failure = null;
            assumption = null;
        }
    }

    @Override
    public void testFailure(Failure notification) {
        if (running) {
            failure = failure == null ? notification.getException() : failure;
        } else {
            classFailed(notification.getException());
        }
    }

    @Override
    public void testAssumptionFailure(Failure notification) {
        if (running) {
            assumption = notification.getException();
        } else {
            while (started < tests.size()) {
                skip(notification.getMessage());
            }
        }
    }

    @Override
    public void testIgnored(Description test) {
        org.junit.Ignore reason = test.getAnnotation(org.junit.Ignore.class);
        if (!test.isTest()) {
            while (started < tests.size()) {
                skip(reason == null ? "" : reason.value());
            }
        } else if (started < tests.size() && order.get(started).equals(test)) {
            skip(reason == null ? "" : reason.value());
        }
    }

    @Override
    public void testFinished(Description test) {
        if (!running) {
            return;
        }
        running = false;
        RequestedTest finished = tests.get(started - 1);
        if (failure != null) {
            reporter.failed(finished, failure);
        } else if (assumption != null) {
            reporter.skipped(finished, assumption.getMessage());
        } else {
            reporter.passed(finished);
        }
        if (started < tests.size()) {
            reporter.beforeTest(tests.get(started));
        }
    }

    /**
     * An error outside of tests is the set-up error of those that have not started, or else the
     * tear-down error of the last one.
     */
    private void classFailed(Throwable thrown) {
        classError = classError == null ? thrown : classError;
        if (started == tests.size() && started > 0) {
            reporter.tearDownFailed(tests.get(started - 1), thrown);
        }
    }

    private void skip(String reason) {
        reporter.start(tests.get(started), testClass);
        reporter.skipped(tests.get(started), reason);
        started++;
    }

    /** The runner has finished. */
    void finish() {
        while (started < tests.size()) {
            Throwable reason = classError != null ? classError : new IllegalStateException("its class was run, but not this test");
            reporter.start(tests.get(started), testClass);
            reporter.setUpFailed(tests.get(started), reason);
            started++;
        }
    }
}
