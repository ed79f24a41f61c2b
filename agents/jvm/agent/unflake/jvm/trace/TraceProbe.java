package unflake.jvm.trace;

import unflake.jvm.protocol.AgentError;
import unflake.jvm.util.ValueFormatter;

/** Called by instrumented project classes at each line and for each value. */
public final class TraceProbe {
    private static final Schedule SCHEDULE = Schedule.of(System.getenv("UNFLAKE_UNDER"));
    static final DelayPoints DELAYS = DelayPoints.of(System.getenv("UNFLAKE_UNDER"));
    /** The thread that initializes this class runs the tests, which execute most lines. */
    private static final Thread TEST_THREAD = Thread.currentThread();
    private static final ThreadTrace TEST_TRACE = new ThreadTrace(LineTracer.trace, new int[0], 0);
    private static final ThreadLocal<ThreadTrace> TRACES = new InheritableThreadLocal<ThreadTrace>() {
        @Override
        protected ThreadTrace initialValue() {
            try {
                return new ThreadTrace(LineTracer.trace, null, 0);
            } catch (Throwable error) {
                throw AgentError.end(error);
            }
        }

        /** Called on the parent thread while it creates the child. */
        @Override
        protected ThreadTrace childValue(ThreadTrace parent) {
            try {
                return parent.child();
            } catch (Throwable error) {
                throw AgentError.end(error);
            }
        }
    };

    static {
        TRACES.set(TEST_TRACE);
    }

    private TraceProbe() {
    }

    /** Runs the static initializer. */
    static void initialize() {
    }

    private static ThreadTrace current() {
        return Thread.currentThread() == TEST_THREAD ? TEST_TRACE : TRACES.get();
    }

    public static void line(int place) {
        try {
            ThreadTrace trace = current();
            trace.recordPlace(place);
            if (SCHEDULE != null) {
                trace.follow(SCHEDULE, place);
            }
            if (DELAYS != null) {
                trace.delay(DELAYS, place);
            }
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }

    public static void value(boolean value, int name) {
        record(String.valueOf(value), name);
    }

    public static void value(char value, int name) {
        record(ValueFormatter.format(value), name);
    }

    public static void value(int value, int name) {
        record(Integer.toString(value), name);
    }

    public static void value(long value, int name) {
        record(Long.toString(value), name);
    }

    public static void value(float value, int name) {
        record(Float.toString(value), name);
    }

    public static void value(double value, int name) {
        record(Double.toString(value), name);
    }

    public static void value(Object value, int name) {
        try {
            ThreadTrace trace = current();
            if (trace.acceptsValues()) {
                trace.recordValue(ValueFormatter.format(value), name);
            }
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }

    private static void record(String value, int name) {
        try {
            current().recordValue(value, name);
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }
}
