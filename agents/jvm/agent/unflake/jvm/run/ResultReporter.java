package unflake.jvm.run;

import unflake.jvm.layers.LayerRecorder;
import unflake.jvm.protocol.DriverOutput;
import unflake.jvm.protocol.FailureDescription;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.state.StateProbe;

/**
 * Reports results to the driver. A result is held back until the next test starts or nothing can
 * follow, because an error in the tear-down of a class is reported for the last test that ran in
 * it.
 */
public final class ResultReporter {
    private final DriverOutput output;
    private final CapturedOutput captured;
    private long startedAt;
    /** The result of the last test, not reported yet. */
    private JsonObject pending;
    private boolean hasPassed;
    /** Path of the file with the layers of the current test. */
    private String layers;
    private String testClass;
    private RequestedTest announced;

    public ResultReporter(DriverOutput output, CapturedOutput captured) {
        this.output = output;
        this.captured = captured;
    }

    /** No part of the test has started; the tests before it are over except for shared fixtures. */
    public void beforeTest(RequestedTest test) {
        if (StateProbe.active() != null) {
            StateProbe.active().beforeTest(test.index, output);
        }
    }

    /** Starts the set-up of fixtures that the test shares with others and is the first to need. */
    public synchronized void announce(RequestedTest test, String testClass) {
        if (announced == test) {
            return;
        }
        if (pending != null) {
            output.buffer(pending);
            pending = null;
        }
        discardOutput();
        announced = test;
        this.testClass = testClass;
        output.send(new JsonObject().put("start", test.index));
    }

    public synchronized void start(RequestedTest test, String testClass) {
        announce(test, testClass);
        layers = null;
        LayerRecorder.testStarted(test.index);
        startedAt = System.nanoTime();
    }

    public synchronized void passed(RequestedTest test) {
        pending = result(test, "passed");
    }

    public synchronized void skipped(RequestedTest test, String reason) {
        pending = result(test, "skipped").put("message", reason == null ? "" : reason);
    }

    public synchronized void failed(RequestedTest test, Throwable thrown) {
        pending = failure(result(test, "failed").put("phase", "call"), thrown);
    }

    /** A shared fixture could not be set up. */
    public synchronized void setUpFailed(RequestedTest test, Throwable thrown) {
        pending = failure(result(test, "error").put("phase", "set-up"), thrown);
    }

    /** A shared fixture could not be torn down. A failure of the test itself takes precedence. */
    public synchronized void tearDownFailed(RequestedTest last, Throwable thrown) {
        if (pending != null && hasPassed) {
            pending = failure(result(last, "error").put("phase", "shared-tear-down"), thrown);
        }
    }

    /** Nothing more can happen to the last test. */
    public synchronized void finish() {
        if (pending != null) {
            output.send(pending);
            pending = null;
        }
        discardOutput();
    }

    private void discardOutput() {
        captured.out.drain();
        captured.err.drain();
    }

    private JsonObject result(RequestedTest test, String outcome) {
        hasPassed = outcome.equals("passed");
        JsonObject message = new JsonObject().put("done", test.index).put("outcome", outcome);
        message.put("seconds", (System.nanoTime() - startedAt) / 1e9);
        String file = LayerRecorder.testFinished(captured.out::text, captured.err::text);
        layers = file == null ? layers : file;
        return message.put("layers", layers);
    }

    private JsonObject failure(JsonObject message, Throwable thrown) {
        FailureDescription.describe(thrown, testClass, message);
        return message.put("stdout", captured.out.drain()).put("stderr", captured.err.drain());
    }
}
