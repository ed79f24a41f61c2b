package unflake.junit;

import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/** Tells what the platform says of the tests that are wanted. */
final class Follower implements TestExecutionListener {
    private final Stage stage;
    private final Report report;
    private final Set<Wanted> told = new HashSet<>();
    /** The one that is under way below the classes, and what came of those that turned up in it. */
    private Shadow current;
    private Throwable failure;
    private Wanted last;

    Follower(Stage stage, Report report) {
        this.stage = stage;
        this.report = report;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        Shadow shadow = stage.shadows.get(test.getUniqueId());
        if (shadow != null) {
            current = shadow;
            failure = null;
            if (shadow.whole != null) {
                start(shadow.whole, shadow);
            } else {
                shadow.wanted().stream().limit(1).forEach(one -> report.announce(one, Platform.typeOf(shadow.real)));
            }
        } else if (invocation(test) != null) {
            start(invocation(test), current);
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String why) {
        Shadow shadow = stage.shadows.get(test.getUniqueId());
        if (shadow != null) {
            shadow.wanted().forEach(one -> skip(one, shadow, why));
        } else if (invocation(test) != null) {
            skip(invocation(test), current, why);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        Shadow shadow = stage.shadows.get(test.getUniqueId());
        Throwable thrown = result.getThrowable().orElse(null);
        if (shadow == null) {
            if (invocation(test) != null) {
                finish(invocation(test), result.getStatus(), thrown);
            } else if (result.getStatus() == Status.FAILED && failure == null) {
                failure = thrown;
            }
        } else if (shadow.whole != null) {
            boolean below = result.getStatus() == Status.SUCCESSFUL && failure != null;
            finish(shadow.whole, below ? Status.FAILED : result.getStatus(), below ? failure : thrown);
        } else if (result.getStatus() != Status.SUCCESSFUL) {
            container(shadow, result.getStatus(), thrown);
        }
    }

    /** What befell a class befell those of its tests that had not begun; or else, at its end, the last. */
    private void container(Shadow shadow, Status status, Throwable thrown) {
        boolean begun = true;
        for (Wanted one : shadow.wanted()) {
            if (told.contains(one)) {
                continue;
            }
            begun = false;
            if (status == Status.ABORTED) {
                skip(one, shadow, thrown.getMessage());
            } else {
                start(one, shadow);
                report.notSetUp(one, thrown);
            }
        }
        if (begun && last != null && status == Status.FAILED) {
            report.notTornDown(last, thrown);
        }
    }

    private Wanted invocation(TestIdentifier test) {
        return current == null ? null : current.invocations.get(test.getUniqueId());
    }

    private void start(Wanted test, Shadow shadow) {
        told.add(test);
        last = test;
        report.start(test, Platform.typeOf(shadow.real));
    }

    private void skip(Wanted test, Shadow shadow, String why) {
        start(test, shadow);
        report.skipped(test, why);
    }

    private void finish(Wanted test, Status status, Throwable thrown) {
        switch (status) {
            case SUCCESSFUL:
                report.passed(test);
                break;
            case ABORTED:
                report.skipped(test, thrown == null ? "" : thrown.getMessage());
                break;
            default:
                report.failed(test, thrown == null ? new AssertionError("it failed without a word") : thrown);
        }
    }
}
