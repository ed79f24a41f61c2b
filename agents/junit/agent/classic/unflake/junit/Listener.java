package unflake.junit;

import java.util.List;
import org.junit.runner.Description;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Tells what JUnit 4 says of the tests of one class, which come in their order. */
final class Listener extends RunListener {
    private final String type;
    private final List<Wanted> tests;
    private final List<Description> order;
    private final Report report;
    /** How many have begun. */
    private int begun;
    private boolean running;
    private Throwable failure;
    private Throwable assumption;
    private Throwable outside;

    Listener(String type, List<Wanted> tests, List<Description> order, Report report) {
        this.type = type;
        this.tests = tests;
        this.order = order;
        this.report = report;
    }

    @Override
    public void testStarted(Description test) {
        if (begun < tests.size() && order.get(begun).equals(test)) {
            report.start(tests.get(begun), type);
            begun++;
            running = true;
            failure = null;
            assumption = null;
        }
    }

    @Override
    public void testFailure(Failure told) {
        if (running) {
            failure = failure == null ? told.getException() : failure;
        } else {
            outside(told.getException());
        }
    }

    @Override
    public void testAssumptionFailure(Failure told) {
        if (running) {
            assumption = told.getException();
        } else {
            while (begun < tests.size()) {
                skip(told.getMessage());
            }
        }
    }

    @Override
    public void testIgnored(Description test) {
        org.junit.Ignore why = test.getAnnotation(org.junit.Ignore.class);
        if (!test.isTest()) {
            while (begun < tests.size()) {
                skip(why == null ? "" : why.value());
            }
        } else if (begun < tests.size() && order.get(begun).equals(test)) {
            skip(why == null ? "" : why.value());
        }
    }

    @Override
    public void testFinished(Description test) {
        if (!running) {
            return;
        }
        running = false;
        Wanted one = tests.get(begun - 1);
        if (failure != null) {
            report.failed(one, failure);
        } else if (assumption != null) {
            report.skipped(one, assumption.getMessage());
        } else {
            report.passed(one);
        }
        if (begun < tests.size()) {
            report.before(tests.get(begun));
        }
    }

    /** What befalls the class befalls those that have not begun; or else, at its end, the last. */
    private void outside(Throwable thrown) {
        outside = outside == null ? thrown : outside;
        if (begun == tests.size() && begun > 0) {
            report.notTornDown(tests.get(begun - 1), thrown);
        }
    }

    private void skip(String why) {
        report.start(tests.get(begun), type);
        report.skipped(tests.get(begun), why);
        begun++;
    }

    /** Nothing more comes from this class. */
    void end() {
        while (begun < tests.size()) {
            Throwable why = outside != null ? outside : new IllegalStateException("its class was run, but not this test");
            report.start(tests.get(begun), type);
            report.notSetUp(tests.get(begun), why);
            begun++;
        }
    }
}
