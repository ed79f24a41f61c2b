package unflake.junit;

import unflake.layers.Layers;

/**
 * Tells what becomes of tests. What went well is held back until the next begins, or until it is certain that nothing
 * comes after it: what fails in the tear-down of a class is told of the test that ran last in it.
 */
final class Report {
    private final Wire wire;
    private final Outputs outputs;
    private long began;
    /** How the last test ended, which has not been told yet. */
    private Message held;
    private boolean wentWell;
    /** Where it is told what it looked like. */
    private String layers;
    private String type;
    private Wanted announced;

    Report(Wire wire, Outputs outputs) {
        this.wire = wire;
        this.outputs = outputs;
    }

    /** Nothing of it has begun, and all that came before is over but for what they share. */
    void before(Wanted test) {
        if (State.wanted() != null) {
            State.wanted().before(test.at, wire);
        }
    }

    /** What it shares with others is about to be set up, and it is the first that needs it. */
    synchronized void announce(Wanted test, String type) {
        if (announced == test) {
            return;
        }
        if (held != null) {
            wire.add(held);
            held = null;
        }
        forget();
        announced = test;
        this.type = type;
        wire.say(new Message().put("start", test.at));
    }

    synchronized void start(Wanted test, String type) {
        announce(test, type);
        layers = null;
        Layers.start(test.at);
        began = System.nanoTime();
    }

    synchronized void passed(Wanted test) {
        held = ended(test, "passed");
    }

    synchronized void skipped(Wanted test, String why) {
        held = ended(test, "skipped").put("message", why == null ? "" : why);
    }

    synchronized void failed(Wanted test, Throwable thrown) {
        held = ended(test, "failed").put("phase", "call");
        Failure.tell(thrown, type, held);
        printed(held);
    }

    /** Something that it shares with others could not be set up. */
    synchronized void notSetUp(Wanted test, Throwable thrown) {
        held = ended(test, "error").put("phase", "set-up");
        Failure.tell(thrown, type, held);
        printed(held);
    }

    /** Something that it shared with others could not be torn down. A failure of its own counts for more. */
    synchronized void notTornDown(Wanted last, Throwable thrown) {
        if (held != null && wentWell) {
            held = ended(last, "error").put("phase", "shared-tear-down");
            Failure.tell(thrown, type, held);
            printed(held);
        }
    }

    /** Nothing more can happen to the test that ran last. */
    synchronized void over() {
        if (held != null) {
            wire.say(held);
            held = null;
        }
        forget();
    }

    /** What was printed until now is of nobody's interest any more. */
    private void forget() {
        outputs.out.drain();
        outputs.err.drain();
    }

    private Message ended(Wanted test, String outcome) {
        wentWell = outcome.equals("passed");
        Message message = new Message().put("done", test.at).put("outcome", outcome);
        message.put("seconds", (System.nanoTime() - began) / 1e9);
        String told = Layers.end(outputs.out::text, outputs.err::text);
        layers = told == null ? layers : told;
        return message.put("layers", layers);
    }

    private void printed(Message message) {
        message.put("stdout", outputs.out.drain()).put("stderr", outputs.err.drain());
    }
}
