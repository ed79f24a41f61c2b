package unflake.jvm.run;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import unflake.jvm.layers.LayerRecorder;
import unflake.jvm.protocol.DriverOutput;
import unflake.jvm.protocol.FailureDescription;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.state.StateProbe;

/**
 * Reports results to the driver. A result is held back until the next test starts or nothing can
 * follow, because an error in the tear-down of a class is reported for the last test that ran in
 * it. Of tests that run side by side, the last result of each class is held back.
 */
public final class ResultReporter {
    private final DriverOutput output;
    private final CapturedOutput captured;
    private boolean sideBySide;
    /** Tests that have started and have no result, by position. */
    private final Map<Integer, Running> running = new HashMap<>();
    /** Results that are not reported yet: one, or one for each class. */
    private final Map<String, Result> pending = new LinkedHashMap<>();
    private RequestedTest announced;
    /** The classes of all tests that have started, by position. */
    private final Map<Integer, String> classes = new HashMap<>();

    private static final class Running {
        final String testClass;
        long startedAt;
        /** 0 before the end. */
        long endedAt;
        /** Path of the file with its layers. */
        String layers;

        Running(String testClass) {
            this.testClass = testClass;
        }
    }

    private static final class Result {
        final RequestedTest test;
        final JsonObject message;
        final boolean hasPassed;

        Result(RequestedTest test, JsonObject message, boolean hasPassed) {
            this.test = test;
            this.message = message;
            this.hasPassed = hasPassed;
        }
    }

    public ResultReporter(DriverOutput output, CapturedOutput captured) {
        this.output = output;
        this.captured = captured;
    }

    /** Tests overlap from now on, or no longer. */
    public synchronized void runSideBySide(boolean value) {
        sideBySide = value;
    }

    public synchronized boolean isSideBySide() {
        return sideBySide;
    }

    /** No part of the test has started; the tests before it are over except for shared fixtures. */
    public void beforeTest(RequestedTest test) {
        if (StateProbe.active() != null) {
            StateProbe.active().beforeTest(test.index, output);
        }
    }

    /** Starts the set-up of fixtures that the test shares with others and is the first to need. */
    public synchronized void announce(RequestedTest test, String testClass) {
        if (announced == test || running.containsKey(test.index)) {
            return;
        }
        if (!sideBySide) {
            // Others may go on: objects of a factory take turns.
            pending.values().forEach(result -> {
                running.remove(result.test.index);
                output.buffer(result.message);
            });
            pending.clear();
            discardOutput();
        }
        announced = test;
        running.put(test.index, new Running(testClass));
        classes.put(test.index, testClass);
        output.send(new JsonObject().put("start", test.index));
    }

    public synchronized void start(RequestedTest test, String testClass) {
        announce(test, testClass);
        if (!sideBySide) {
            LayerRecorder.testStarted(test.index);
        }
        running.computeIfAbsent(test.index, index -> new Running(testClass)).startedAt = System.nanoTime();
    }

    /** The test has ended; its result follows, now or later. */
    public synchronized void end(RequestedTest test) {
        running.get(test.index).endedAt = System.nanoTime();
    }

    public synchronized void passed(RequestedTest test) {
        hold(test, result(test, "passed"), true);
    }

    public synchronized void skipped(RequestedTest test, String reason) {
        hold(test, result(test, "skipped").put("message", reason == null ? "" : reason), false);
    }

    public synchronized void failed(RequestedTest test, Throwable thrown) {
        hold(test, failure(test, result(test, "failed").put("phase", "call"), thrown), false);
    }

    /** A shared fixture could not be set up. */
    public synchronized void setUpFailed(RequestedTest test, Throwable thrown) {
        hold(test, failure(test, result(test, "error").put("phase", "set-up"), thrown), false);
    }

    /** A shared fixture could not be torn down. A failure of the test itself takes precedence. */
    public synchronized void tearDownFailed(RequestedTest last, Throwable thrown) {
        // Of tests that ran side by side, another one of the class may have been the last.
        Result held = pending.get(sideBySide ? classes.get(last.index) : "");
        if (held != null && held.hasPassed && (sideBySide || held.test == last)) {
            JsonObject message = result(held.test, "error").put("phase", "shared-tear-down");
            hold(held.test, failure(held.test, message, thrown), false);
        }
    }

    /** Nothing more can happen to the last test. */
    public synchronized void finish() {
        pending.values().forEach(result -> output.send(result.message));
        pending.clear();
        running.clear();
        discardOutput();
    }

    /** A result of the same test replaces the one before; another one of its class reports it. */
    private void hold(RequestedTest test, JsonObject message, boolean hasPassed) {
        String key = sideBySide ? running.get(test.index).testClass : "";
        Result before = pending.put(key, new Result(test, message, hasPassed));
        if (before != null && before.test != test) {
            running.remove(before.test.index);
            output.send(before.message);
        }
    }

    private void discardOutput() {
        captured.out.drain();
        captured.err.drain();
    }

    private JsonObject result(RequestedTest test, String outcome) {
        Running run = running.get(test.index);
        long end = run.endedAt != 0 ? run.endedAt : System.nanoTime();
        JsonObject message = new JsonObject().put("done", test.index).put("outcome", outcome);
        message.put("seconds", (end - run.startedAt) / 1e9);
        // Layers belong to one test at a time.
        String file = sideBySide ? null : LayerRecorder.testFinished(captured.out::text, captured.err::text);
        run.layers = file == null ? run.layers : file;
        return message.put("layers", run.layers);
    }

    /** Output of tests that run side by side is that of all of them. */
    private JsonObject failure(RequestedTest test, JsonObject message, Throwable thrown) {
        FailureDescription.describe(thrown, running.get(test.index).testClass, message);
        return message.put("stdout", captured.out.drain()).put("stderr", captured.err.drain());
    }
}
