package unflake.jvm.junit4;

import java.util.List;
import org.junit.runner.Description;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;

/** Reports the notifications of JUnit 4 about the tests of one class. */
final class JUnit4Listener extends RunListener {
    private final String testClass;
    private final List<RequestedTest> tests;
    private final List<Description> order;
    private final ResultReporter reporter;
    private final boolean[] isStarted;
    /** The running test of each thread. */
    private final ThreadLocal<Running> running = new ThreadLocal<>();
    /** Position of the last test that has started; -1 before the first. */
    private int last = -1;
    private Throwable classError;

    private static final class Running {
        final RequestedTest test;
        Throwable failure;
        Throwable assumption;

        Running(RequestedTest test) {
            this.test = test;
        }
    }

    JUnit4Listener(String testClass, List<RequestedTest> tests, List<Description> order, ResultReporter reporter) {
        this.testClass = testClass;
        this.tests = tests;
        this.order = order;
        this.reporter = reporter;
        isStarted = new boolean[tests.size()];
    }

    @Override
    public void testStarted(Description test) {
        AgentError.guard(() -> {
            int next = startNext(test);
            if (next >= 0) {
                running.set(new Running(tests.get(next)));
            }
        });
    }

    @Override
    public void testFailure(Failure notification) {
        AgentError.guard(() -> {
            Running test = running.get();
            if (test != null) {
                test.failure = test.failure == null ? notification.getException() : test.failure;
            } else {
                classFailed(notification.getException());
            }
        });
    }

    /** JUnit 4.4 does not declare this method. */
    public void testAssumptionFailure(Failure notification) {
        AgentError.guard(() -> {
            if (running.get() != null) {
                running.get().assumption = notification.getException();
            } else {
                skipRemaining(notification.getMessage());
            }
        });
    }

    @Override
    public void testIgnored(Description test) {
        AgentError.guard(() -> {
            org.junit.Ignore ignore = test.getAnnotation(org.junit.Ignore.class);
            String reason = ignore == null ? "" : ignore.value();
            int next = test.isTest() ? next(test) : -1;
            if (!test.isTest()) {
                skipRemaining(reason);
            } else if (next >= 0) {
                skip(next, reason);
            }
        });
    }

    @Override
    public void testFinished(Description test) {
        AgentError.guard(() -> {
            Running finished = running.get();
            if (finished != null) {
                running.remove();
                reportResult(finished);
                int next = next(null);
                if (next >= 0) {
                    reporter.beforeTest(tests.get(next));
                }
            }
        });
    }

    private void reportResult(Running finished) {
        if (finished.failure != null) {
            reporter.failed(finished.test, finished.failure);
        } else if (finished.assumption != null) {
            reporter.skipped(finished.test, finished.assumption.getMessage());
        } else {
            reporter.passed(finished.test);
        }
    }

    /** The first position of this test, or of any test for null, that has not started; else -1. */
    private synchronized int next(Description test) {
        for (int index = 0; index < isStarted.length; index++) {
            if (!isStarted[index] && (test == null || order.get(index).equals(test))) {
                return index;
            }
        }
        return -1;
    }

    private synchronized int startNext(Description test) {
        int next = next(test);
        if (next >= 0) {
            start(next);
        }
        return next;
    }

    private synchronized void start(int index) {
        isStarted[index] = true;
        last = index;
        reporter.start(tests.get(index), testClass);
    }

    /**
     * An error outside of tests is the set-up error of those that have not started, or else the
     * tear-down error of the last one.
     */
    private void classFailed(Throwable thrown) {
        classError = classError == null ? thrown : classError;
        if (last >= 0 && next(null) < 0) {
            reporter.tearDownFailed(tests.get(last), thrown);
        }
    }

    private void skip(int index, String reason) {
        start(index);
        reporter.skipped(tests.get(index), reason);
    }

    private void skipRemaining(String reason) {
        for (int index = next(null); index >= 0; index = next(null)) {
            skip(index, reason);
        }
    }

    /** The runner has finished. */
    void finish() {
        for (int index = next(null); index >= 0; index = next(null)) {
            Throwable reason = classError != null ? classError : new IllegalStateException("its class ran without this test");
            start(index);
            reporter.setUpFailed(tests.get(index), reason);
        }
    }
}
