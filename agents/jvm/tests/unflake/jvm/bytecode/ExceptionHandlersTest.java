package unflake.jvm.bytecode;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.TreeMap;
import unflake.jvm.util.Streams;

/** Checks the handlers that are found for a line in methods with every kind of {@code try}. */
public final class ExceptionHandlersTest implements Closeable {
    private static final Map<String, String> FOUND = new TreeMap<>();

    private ExceptionHandlersTest() {
    }

    public static void main(String[] arguments) throws Exception {
        plain();
        usesFinally();
        usesResource();
        catches();
        catchesUnrelated();
        returnsInFinally();
        rethrows();
        retries();
        switches(1);
        String expected = "{catches=[java.lang.AssertionError returns], catchesUnrelated=[java.io.IOException returns], plain=[],"
            + " rethrows=[java.lang.Throwable], retries=[java.lang.Error returns], returnsInFinally=[null returns],"
            + " switches=[java.lang.Throwable returns], usesFinally=[null], usesResource=[java.lang.Throwable]}";
        if (!FOUND.toString().equals(expected)) {
            System.out.println(FOUND + "\nexpected\n" + expected);
            System.exit(1);
        }
    }

    /** Records the handlers of the calling line. */
    private static void inspect() {
        StackTraceElement caller = new Throwable().getStackTrace()[1];
        try (InputStream in = ExceptionHandlersTest.class.getResourceAsStream("ExceptionHandlersTest.class")) {
            StringBuilder handlers = new StringBuilder();
            for (ExceptionHandlers.Handler handler : ExceptionHandlers.covering(Streams.readAll(in), caller.getMethodName(), caller.getLineNumber())) {
                handlers.append(handlers.length() == 0 ? "" : ", ").append(handler.type).append(handler.canReturn ? " returns" : "");
            }
            FOUND.put(caller.getMethodName(), "[" + handlers + "]");
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void plain() {
        inspect();
        try {
            FOUND.size();
        } catch (Throwable other) {
            FOUND.clear();
        }
    }

    private static void usesFinally() {
        try {
            inspect();
        } finally {
            FOUND.size();
        }
    }

    private static void usesResource() {
        try (ExceptionHandlersTest it = new ExceptionHandlersTest()) {
            inspect();
        }
    }

    private static void catches() {
        try {
            inspect();
        } catch (AssertionError expected) {
            FOUND.clear();
        }
    }

    private static void catchesUnrelated() {
        try {
            inspect();
            if (FOUND.isEmpty()) {
                throw new IOException();
            }
        } catch (IOException error) {
            FOUND.clear();
        }
    }

    @SuppressWarnings("finally")
    private static int returnsInFinally() {
        try {
            inspect();
        } finally {
            return 1;
        }
    }

    private static void rethrows() {
        try {
            inspect();
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static void retries() {
        while (true) {
            try {
                inspect();
                return;
            } catch (Error ignored) {
                FOUND.size();
            }
        }
    }

    private static void switches(int key) {
        try {
            inspect();
        } catch (Throwable error) {
            switch (key) {
                case 1:
                    throw new IllegalStateException();
                case 700:
                    return;
                default:
                    throw error;
            }
        }
    }

    @Override
    public void close() {
    }
}
