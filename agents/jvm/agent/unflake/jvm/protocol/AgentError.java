package unflake.jvm.protocol;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * Reports an error of the agent itself and ends the process, so that it never becomes the failure
 * of a test.
 */
public final class AgentError {
    /** Tells the driver about an error before there is a channel to it. */
    private static final int EXIT = 70;

    /** Code of the agent that JUnit or the project calls. */
    public interface Action {
        void run() throws Exception;
    }

    private static volatile DriverOutput output;

    private AgentError() {
    }

    public static void reportTo(DriverOutput driver) {
        output = driver;
    }

    public static void guard(Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            throw end(error);
        }
    }

    /**
     * Does not return. Rethrows what a test causes anywhere, in the agent too: an exhausted heap or
     * stack.
     */
    public static Error end(Throwable error) {
        if (error instanceof VirtualMachineError || error instanceof ThreadDeath) {
            throw (Error) error;
        }
        try {
            if (output != null) {
                StringWriter trace = new StringWriter();
                error.printStackTrace(new PrintWriter(trace, true));
                output.send(new JsonObject().put("internal", trace.toString()));
            } else {
                error.printStackTrace();
            }
        } finally {
            Runtime.getRuntime().halt(EXIT);
        }
        throw new IllegalStateException(error);
    }
}
