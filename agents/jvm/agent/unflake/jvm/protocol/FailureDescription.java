package unflake.jvm.protocol;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Describes an exception for people: type, message, stack trace and the line of the test. */
public final class FailureDescription {
    private static final String[] RUNNER_PACKAGES = {
        "org.junit.", "junit.framework.", "org.testng.", "unflake.jvm.", "java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect.",
        "java.util.", "java.base/"
    };

    private FailureDescription() {
    }

    public static void describe(Throwable thrown, String testClass, JsonObject message) {
        message.put("kind", thrown.getClass().getName());
        message.put("message", bounded(String.valueOf(messageOf(thrown))));
        message.put("trace", bounded(stackTrace(thrown)));
        StackTraceElement location = location(thrown, testClass);
        if (location != null) {
            String className = location.getClassName();
            String folder = className.substring(0, className.lastIndexOf('.') + 1).replace('.', '/');
            message.put("file", folder + location.getFileName()).put("line", location.getLineNumber());
        }
    }

    /** The stack trace without the frames of the runner below the test. */
    public static String stackTrace(Throwable thrown) {
        StringWriter text = new StringWriter();
        try {
            thrown.printStackTrace(new PrintWriter(text, true));
        } catch (RuntimeException | LinkageError broken) {
            return thrown.getClass().getName();
        }
        String[] lines = text.toString().split("\\R");
        int end = lines.length;
        while (end > 1 && isRunnerFrame(lines[end - 1])) {
            end--;
        }
        return String.join("\n", java.util.Arrays.copyOf(lines, end));
    }

    private static boolean isRunnerFrame(String line) {
        String frame = line.trim();
        if (!frame.startsWith("at ")) {
            return false;
        }
        for (String runner : RUNNER_PACKAGES) {
            if (frame.startsWith(runner, 3)) {
                return true;
            }
        }
        return false;
    }

    private static Object messageOf(Throwable thrown) {
        try {
            return thrown.getMessage() == null ? thrown.getClass().getSimpleName() : thrown.getMessage();
        } catch (RuntimeException | LinkageError broken) {
            return thrown.getClass().getSimpleName();
        }
    }

    /** Exceptions of projects may override all methods that describe them. */
    private static StackTraceElement[] framesOf(Throwable thrown) {
        try {
            return thrown.getStackTrace();
        } catch (RuntimeException | LinkageError broken) {
            return new StackTraceElement[0];
        }
    }

    /** The innermost line of the test class, or else of any code that is not a runner's. */
    private static StackTraceElement location(Throwable thrown, String testClass) {
        StackTraceElement fallback = null;
        for (StackTraceElement frame : framesOf(thrown)) {
            boolean isOwn = frame.getClassName().equals(testClass) || frame.getClassName().startsWith(testClass + "$");
            if (frame.getFileName() != null && isOwn) {
                return frame;
            }
            boolean isRunner = isRunnerFrame("at " + frame.getClassName()) || frame.getClassName().startsWith("java.");
            if (fallback == null && frame.getFileName() != null && !isRunner) {
                fallback = frame;
            }
        }
        return fallback;
    }

    private static String bounded(String text) {
        int limit = 32 << 10;
        return text.length() <= limit ? text : text.substring(0, limit) + "\n… " + (text.length() - limit) + " characters left out …";
    }
}
