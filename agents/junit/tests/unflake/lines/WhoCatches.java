package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.TreeMap;

/** Says of methods with every kind of {@code try} what they would do with an exception that comes out of a certain line. */
public final class WhoCatches implements Closeable {
    private static final Map<String, String> TOLD = new TreeMap<>();

    private WhoCatches() {
    }

    public static void main(String[] words) throws Exception {
        plain();
        tidiesUp();
        closes();
        catches();
        catchesOthers();
        returnsAnyway();
        passesOn();
        triesAgain();
        chooses(1);
        String expected = "{catches=[java.lang.AssertionError goes on], catchesOthers=[java.io.IOException goes on], chooses=[java.lang.Throwable goes on],"
            + " closes=[java.lang.Throwable], passesOn=[java.lang.Throwable], plain=[], returnsAnyway=[null goes on], tidiesUp=[null],"
            + " triesAgain=[java.lang.Error goes on]}";
        if (!TOLD.toString().equals(expected)) {
            System.out.println(TOLD + "\nis not\n" + expected);
            System.exit(1);
        }
    }

    /** Looks at the line that it is called from. */
    private static void here() {
        StackTraceElement caller = new Throwable().getStackTrace()[1];
        try (InputStream in = WhoCatches.class.getResourceAsStream("WhoCatches.class")) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            for (int one = in.read(); one >= 0; one = in.read()) {
                bytes.write(one);
            }
            StringBuilder told = new StringBuilder();
            for (Handlers.Handler handler : Handlers.at(bytes.toByteArray(), caller.getMethodName(), caller.getLineNumber())) {
                told.append(told.length() == 0 ? "" : ", ").append(handler.type).append(handler.mayGoOn ? " goes on" : "");
            }
            TOLD.put(caller.getMethodName(), "[" + told + "]");
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static void plain() {
        here();
        try {
            TOLD.size();
        } catch (Throwable other) {
            TOLD.clear();
        }
    }

    private static void tidiesUp() {
        try {
            here();
        } finally {
            TOLD.size();
        }
    }

    private static void closes() {
        try (WhoCatches it = new WhoCatches()) {
            here();
        }
    }

    private static void catches() {
        try {
            here();
        } catch (AssertionError expected) {
            TOLD.clear();
        }
    }

    private static void catchesOthers() {
        try {
            here();
            if (TOLD.isEmpty()) {
                throw new IOException();
            }
        } catch (IOException problem) {
            TOLD.clear();
        }
    }

    @SuppressWarnings("finally")
    private static int returnsAnyway() {
        try {
            here();
        } finally {
            return 1;
        }
    }

    private static void passesOn() {
        try {
            here();
        } catch (Throwable problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static void triesAgain() {
        while (true) {
            try {
                here();
                return;
            } catch (Error notYet) {
                TOLD.size();
            }
        }
    }

    private static void chooses(int way) {
        try {
            here();
        } catch (Throwable problem) {
            switch (way) {
                case 1:
                    throw new IllegalStateException();
                case 700:
                    return;
                default:
                    throw problem;
            }
        }
    }

    @Override
    public void close() {
    }
}
