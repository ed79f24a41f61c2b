package unflake.junit;

import java.io.PrintWriter;
import java.io.StringWriter;

/** An exception as people are to read it. */
final class Failure {
    private static final String[] RUNNERS = {
        "org.junit.", "junit.framework.", "unflake.junit.", "java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect.",
        "java.util.", "java.base/"
    };

    private Failure() {
    }

    static void tell(Throwable thrown, String type, Message message) {
        message.put("kind", thrown.getClass().getName());
        message.put("message", bounded(String.valueOf(words(thrown))));
        message.put("trace", bounded(text(thrown)));
        StackTraceElement place = place(thrown, type);
        if (place != null) {
            String name = place.getClassName();
            String folder = name.substring(0, name.lastIndexOf('.') + 1).replace('.', '/');
            message.put("file", folder + place.getFileName()).put("line", place.getLineNumber());
        }
    }

    /** With the frames below the test left out: they are of whoever ran it. */
    static String text(Throwable thrown) {
        StringWriter text = new StringWriter();
        try {
            thrown.printStackTrace(new PrintWriter(text, true));
        } catch (RuntimeException broken) {
            return thrown.getClass().getName();
        }
        String[] lines = text.toString().split("\\R");
        int end = lines.length;
        while (end > 1 && isOfRunner(lines[end - 1])) {
            end--;
        }
        return String.join("\n", java.util.Arrays.copyOf(lines, end));
    }

    private static boolean isOfRunner(String line) {
        String frame = line.trim();
        if (!frame.startsWith("at ")) {
            return false;
        }
        for (String runner : RUNNERS) {
            if (frame.startsWith(runner, 3)) {
                return true;
            }
        }
        return false;
    }

    private static Object words(Throwable thrown) {
        try {
            return thrown.getMessage() == null ? thrown.getClass().getSimpleName() : thrown.getMessage();
        } catch (RuntimeException broken) {
            return thrown.getClass().getSimpleName();
        }
    }

    /** The innermost line of the test's own class; where there is none, of anything that is no runner. */
    private static StackTraceElement place(Throwable thrown, String type) {
        StackTraceElement other = null;
        for (StackTraceElement frame : thrown.getStackTrace()) {
            boolean own = frame.getClassName().equals(type) || frame.getClassName().startsWith(type + "$");
            if (frame.getFileName() != null && own) {
                return frame;
            }
            boolean isRunner = isOfRunner("at " + frame.getClassName()) || frame.getClassName().startsWith("java.");
            if (other == null && frame.getFileName() != null && !isRunner) {
                other = frame;
            }
        }
        return other;
    }

    private static String bounded(String text) {
        int most = 32 << 10;
        return text.length() <= most ? text : text.substring(0, most) + "\n… " + (text.length() - most) + " characters left out …";
    }
}
