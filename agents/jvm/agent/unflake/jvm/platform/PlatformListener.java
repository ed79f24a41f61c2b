package unflake.jvm.platform;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
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
    /** The class or test that started last. */
    private DescriptorProxy current;
    /** The first failure of dynamic tests in each test. */
    private final Map<DescriptorProxy, Throwable> failures = new HashMap<>();

    PlatformListener(ReorderingEngine engine, ResultReporter reporter) {
        this.engine = engine;
        this.reporter = reporter;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        AgentError.guard(() -> onStarted(test));
    }

    private synchronized void onStarted(TestIdentifier test) {
        DescriptorProxy proxy = engine.proxies.get(test.getUniqueId());
        if (proxy != null) {
            current = proxy;
            failures.remove(proxy);
            if (proxy.test != null) {
                start(proxy.test, proxy);
            } else {
                proxy.requestedTests().stream().limit(1).forEach(first -> reporter.announce(first, JUnitPlatform.classOf(proxy.real)));
            }
        } else if (invocation(test) != null) {
            start(invocation(test), parent(test));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        AgentError.guard(() -> onSkipped(test, reason));
    }

    private synchronized void onSkipped(TestIdentifier test, String reason) {
        DescriptorProxy proxy = engine.proxies.get(test.getUniqueId());
        if (proxy != null) {
            proxy.requestedTests().forEach(skipped -> skip(skipped, proxy, reason));
        } else if (invocation(test) != null) {
            skip(invocation(test), parent(test), reason);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        AgentError.guard(() -> onFinished(test, result));
    }

    private synchronized void onFinished(TestIdentifier test, TestExecutionResult result) {
        DescriptorProxy proxy = engine.proxies.get(test.getUniqueId());
        Throwable thrown = result.getThrowable().orElse(null);
        if (proxy == null) {
            if (invocation(test) != null) {
                finish(invocation(test), result.getStatus(), thrown);
            } else if (result.getStatus() == Status.FAILED && parent(test) != null) {
                failures.putIfAbsent(parent(test), thrown);
            }
        } else if (proxy.test != null) {
            Throwable failure = failures.get(proxy);
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
        RequestedTest last = null;
        for (RequestedTest test : proxy.requestedTests()) {
            last = test;
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
        DescriptorProxy parent = parent(test);
        return parent == null ? null : parent.invocations.get(test.getUniqueId());
    }

    /**
     * The class or test that a dynamic test belongs to. One by one, it is the last that started: a
     * test can run again, and dynamic tests have the same names then.
     */
    private DescriptorProxy parent(TestIdentifier test) {
        if (!reporter.isSideBySide()) {
            return current;
        }
        String id = test.getUniqueId();
        while (id.contains("/[") && !engine.proxies.containsKey(id)) {
            id = id.substring(0, id.lastIndexOf("/["));
        }
        return engine.proxies.get(id);
    }

    private void start(RequestedTest test, DescriptorProxy proxy) {
        started.add(test);
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
                reporter.failed(test, thrown == null ? new AssertionError("failed without a message") : thrown);
        }
    }
}
