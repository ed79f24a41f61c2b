package unflake.jvm.platform;

import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;

/** Reports what the JUnit Platform notifies about the requested tests. */
final class PlatformListener implements TestExecutionListener {
    private final ReorderingEngine engine;
    private final ResultReporter reporter;
    private final Set<RequestedTest> started = new HashSet<>();
    /** The running test, and the first failure of dynamic tests in it. */
    private DescriptorProxy current;
    private Throwable failure;
    private RequestedTest last;

    PlatformListener(ReorderingEngine engine, ResultReporter reporter) {
        this.engine = engine;
        this.reporter = reporter;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        AgentError.guard(() -> onStarted(test));
    }

    private void onStarted(TestIdentifier test) {
        DescriptorProxy proxy = engine.proxies.get(test.getUniqueId());
        if (proxy != null) {
            current = proxy;
            failure = null;
            if (proxy.test != null) {
                start(proxy.test, proxy);
            } else {
                proxy.requestedTests().stream().limit(1).forEach(first -> reporter.announce(first, JUnitPlatform.classOf(proxy.real)));
            }
        } else if (invocation(test) != null) {
            start(invocation(test), current);
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        AgentError.guard(() -> onSkipped(test, reason));
    }

    private void onSkipped(TestIdentifier test, String reason) {
        DescriptorProxy proxy = engine.proxies.get(test.getUniqueId());
        if (proxy != null) {
            proxy.requestedTests().forEach(skipped -> skip(skipped, proxy, reason));
        } else if (invocation(test) != null) {
            skip(invocation(test), current, reason);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        AgentError.guard(() -> onFinished(test, result));
    }

    private void onFinished(TestIdentifier test, TestExecutionResult result) {
        DescriptorProxy proxy = engine.proxies.get(test.getUniqueId());
        Throwable thrown = result.getThrowable().orElse(null);
        if (proxy == null) {
            if (invocation(test) != null) {
                finish(invocation(test), result.getStatus(), thrown);
            } else if (result.getStatus() == Status.FAILED && failure == null) {
                failure = thrown;
            }
        } else if (proxy.test != null) {
            boolean nestedFailed = result.getStatus() == Status.SUCCESSFUL && failure != null;
            finish(proxy.test, nestedFailed ? Status.FAILED : result.getStatus(), nestedFailed ? failure : thrown);
        } else if (result.getStatus() != Status.SUCCESSFUL) {
            containerFailed(proxy, result.getStatus(), thrown);
        }
    }

    /**
     * An error of a class is the set-up error of its tests that have not started, or else the
     * tear-down error of the last one.
     */
    private void containerFailed(DescriptorProxy proxy, Status status, Throwable thrown) {
        boolean allStarted = true;
        for (RequestedTest test : proxy.requestedTests()) {
            if (started.contains(test)) {
                continue;
            }
            allStarted = false;
            if (status == Status.ABORTED) {
                skip(test, proxy, thrown.getMessage());
            } else {
                start(test, proxy);
                reporter.setUpFailed(test, thrown);
            }
        }
        if (allStarted && last != null && status == Status.FAILED) {
            reporter.tearDownFailed(last, thrown);
        }
    }

    private RequestedTest invocation(TestIdentifier test) {
        return current == null ? null : current.invocations.get(test.getUniqueId());
    }

    private void start(RequestedTest test, DescriptorProxy proxy) {
        started.add(test);
        last = test;
        reporter.start(test, JUnitPlatform.classOf(proxy.real));
    }

    private void skip(RequestedTest test, DescriptorProxy proxy, String reason) {
        start(test, proxy);
        reporter.skipped(test, reason);
    }

    private void finish(RequestedTest test, Status status, Throwable thrown) {
        switch (status) {
            case SUCCESSFUL:
                reporter.passed(test);
                break;
            case ABORTED:
                reporter.skipped(test, thrown == null ? "" : thrown.getMessage());
                break;
            default:
                reporter.failed(test, thrown == null ? new AssertionError("it failed without a word") : thrown);
        }
    }
}
