package unflake.jvm.testng;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.testng.IInvokedMethod;
import org.testng.IInvokedMethodListener;
import org.testng.ITestContext;
import org.testng.ITestNGMethod;
import org.testng.ITestResult;
import org.testng.SkipException;
import org.testng.internal.IResultListener;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;

/**
 * Reports what TestNG notifies about the requested tests. A test that TestNG skips because its
 * configuration or a test that it depends on failed is reported as an error in its set-up, so that
 * it runs again.
 */
public final class TestNgListener implements IResultListener, IInvokedMethodListener {
    private final ResultReporter reporter;
    private final boolean isReordered;
    private final List<TestNg.Request> order;
    private final Map<String, Progress> tests = new LinkedHashMap<>();
    /** Names of tests that failed, requested or not. */
    private final Set<String> failed = new HashSet<>();
    private Throwable configurationFailure;
    /** The last test with a result. */
    private RequestedTest last;
    /** How many tests of the order have a result, and how many have been prepared for. */
    private int ended;
    private int prepared;

    /** A test of the run: its requests, one for each repetition, and the result so far. */
    private static final class Progress {
        final TestKey key;
        final List<RequestedTest> requests = new ArrayList<>();
        /** The repetition under way. */
        int current;
        boolean started;
        boolean passed;
        Throwable failure;
        Throwable setUpFailure;
        String skipReason;

        Progress(TestKey key) {
            this.key = key;
        }

        RequestedTest request() {
            return requests.get(Math.min(current, requests.size() - 1));
        }

        void repeat() {
            current++;
            started = false;
            passed = false;
            failure = null;
            setUpFailure = null;
        }
    }

    TestNgListener(List<TestNg.Request> order, ResultReporter reporter, boolean isReordered) {
        this.order = order;
        this.reporter = reporter;
        this.isReordered = isReordered;
        for (TestNg.Request request : order) {
            tests.computeIfAbsent(request.key.name(), name -> new Progress(request.key)).requests.add(request.test);
        }
    }

    /** Whatever TestNG does before the first test belongs to it. */
    void announceFirst() {
        TestNg.Request first = order.get(0);
        reporter.beforeTest(first.test);
        prepared = 1;
        reporter.announce(first.test, first.key.testClass);
    }

    @Override
    public void beforeInvocation(IInvokedMethod invoked, ITestResult result) {
        AgentError.guard(() -> {
            if (isReordered) {
                prepare(invoked);
            }
        });
    }

    /** Nothing of the next test has run yet. Between rows of one test, only a test method shows it. */
    private synchronized void prepare(IInvokedMethod invoked) {
        if (prepared > ended || prepared >= order.size() || isTearDown(invoked.getTestMethod())) {
            return;
        }
        TestNg.Request next = order.get(prepared);
        boolean isNext = invoked.isTestMethod() && MethodListing.nameOf(invoked.getTestMethod()).equals(next.key.name());
        if (isNext || order.get(prepared - 1).key.isSingle()) {
            reporter.beforeTest(next.test);
            prepared++;
        }
    }

    private static boolean isTearDown(ITestNGMethod method) {
        return method.isAfterMethodConfiguration() || method.isAfterClassConfiguration() || method.isAfterGroupsConfiguration()
                || method.isAfterTestConfiguration() || method.isAfterSuiteConfiguration();
    }

    @Override
    public void afterInvocation(IInvokedMethod invoked, ITestResult result) {
    }

    @Override
    public void onTestStart(ITestResult result) {
        AgentError.guard(() -> {
            Progress test = tests.get(MethodListing.nameOf(result.getMethod()));
            if (test != null) {
                start(test);
            }
        });
    }

    private synchronized void start(Progress test) {
        if (!test.started) {
            test.started = true;
            reporter.start(test.request(), test.key.testClass);
        }
    }

    @Override
    public void onTestSuccess(ITestResult result) {
        AgentError.guard(() -> onEnd(result, test -> test.passed = true));
    }

    @Override
    public void onTestFailedButWithinSuccessPercentage(ITestResult result) {
        onTestSuccess(result);
    }

    @Override
    public void onTestFailure(ITestResult result) {
        AgentError.guard(() -> {
            synchronized (this) {
                failed.add(MethodListing.nameOf(result.getMethod()));
            }
            onEnd(result, test -> test.failure = test.failure == null ? thrownBy(result) : test.failure);
        });
    }

    private static Throwable thrownBy(ITestResult result) {
        Throwable thrown = result.getThrowable();
        return thrown != null ? thrown : new AssertionError("it failed without an exception");
    }

    @Override
    public void onTestSkipped(ITestResult result) {
        AgentError.guard(() -> onEnd(result, test -> {
            test.setUpFailure = causeOfSkip(test, result);
            if (test.setUpFailure != null) {
                failed.add(test.key.name());
            } else {
                test.skipReason = result.getThrowable() == null ? "" : result.getThrowable().getMessage();
            }
        }));
    }

    /** Null: the test or its configuration asked to be skipped, or the test is retried. */
    private Throwable causeOfSkip(Progress test, ITestResult result) {
        if (result.getThrowable() instanceof SkipException) {
            return null;
        }
        if (configurationFailure != null) {
            return configurationFailure;
        }
        for (String prerequisite : test.key.prerequisites) {
            if (failed.contains(prerequisite)) {
                return new IllegalStateException("it depends on " + prerequisite.replace('/', '#') + ", which failed");
            }
        }
        return null;
    }

    private synchronized void onEnd(ITestResult result, Consumer<Progress> change) {
        Progress test = tests.get(MethodListing.nameOf(result.getMethod()));
        if (test == null) {
            return;
        }
        start(test);
        change.accept(test);
        reporter.end(test.request());
        if (isReportedAtOnce(test)) {
            report(test);
        }
        if (test.requests.size() > 1) {
            test.repeat();
        }
    }

    /**
     * The reporter holds a result back until another test starts. Invocations that may come after
     * that would be lost, so such tests are reported at the end.
     */
    private boolean isReportedAtOnce(Progress test) {
        switch (test.key.invocations) {
            case SINGLE:
                return true;
            case ROWS:
                return !reporter.isSideBySide();
            default:
                return isReordered;
        }
    }

    private void report(Progress test) {
        RequestedTest request = test.request();
        if (last != request) {
            last = request;
            ended++;
        }
        if (test.failure != null) {
            reporter.failed(request, test.failure);
        } else if (test.setUpFailure != null) {
            reporter.setUpFailed(request, test.setUpFailure);
        } else if (test.passed) {
            reporter.passed(request);
        } else {
            reporter.skipped(request, test.skipReason);
        }
    }

    @Override
    public void onConfigurationFailure(ITestResult result) {
        AgentError.guard(() -> onConfigurationFailure(result.getMethod(), thrownBy(result)));
    }

    private synchronized void onConfigurationFailure(ITestNGMethod method, Throwable thrown) {
        if (thrown instanceof SkipException) {
            return;
        }
        configurationFailure = thrown;
        if (last != null && isTearDown(method)) {
            reporter.tearDownFailed(last, thrown);
        }
    }

    @Override
    public void onConfigurationSkip(ITestResult result) {
    }

    @Override
    public void onConfigurationSuccess(ITestResult result) {
    }

    @Override
    public void onStart(ITestContext context) {
    }

    @Override
    public void onFinish(ITestContext context) {
    }

    /** TestNG has finished; {@code thrown} is why it did not run all tests, or null. */
    synchronized void finish(Throwable thrown) {
        Throwable reason = configurationFailure != null ? configurationFailure : thrown;
        for (Progress test : tests.values()) {
            if (test.started && !isReportedAtOnce(test)) {
                report(test);
                continue;
            }
            for (int missing = test.started ? test.requests.size() : test.current; missing < test.requests.size(); missing++) {
                reporter.start(test.requests.get(missing), test.key.testClass);
                reporter.setUpFailed(test.requests.get(missing), reason != null ? reason : new IllegalStateException("TestNG did not run it"));
            }
        }
    }
}
