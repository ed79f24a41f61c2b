package unflake.layers;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import unflake.lines.Bytes;
import unflake.lines.Handlers;

/**
 * Whether anybody but the runner waits for the failure of an assertion: {@code assertThrows}, a {@code try}, a rule that runs a test again. Then it
 * means something to the test, and letting it pass would change what the test does.
 */
final class Waiting {
    /** Of runners, and of what gathers failures to tell them all: what they do with one is theirs. */
    private static final String[] RUNNERS = {
        "unflake.", "org.junit.platform.", "org.junit.jupiter.engine.", "org.junit.jupiter.params.", "org.junit.jupiter.api.AssertAll",
        "org.junit.vintage.", "org.junit.runner", "org.junit.internal.runners.", "org.junit.rules.", "junit.framework.",
        "org.assertj.core.api.ErrorCollector"
    };
    private static final String[] WAIT_ALL_THE_SAME = {"org.junit.internal.runners.statements.ExpectException", "org.junit.rules.ExpectedException"};
    /** They are made while a JVM runs, or call anything for anybody, and pass on what comes out of it in another exception. */
    private static final String[] REFLECTION = {"java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect.", "java.lang.invoke.", "com.sun.proxy.", "jdk.proxy"};
    private static final Map<StackTraceElement, List<Handlers.Handler>> KNOWN = new ConcurrentHashMap<>();

    private Waiting() {
    }

    /** Who would catch this, of those who stand on the stack from this place on, in words; null: nobody. */
    static String who(Throwable thrown, StackTraceElement[] stack, int from) {
        // Whether it may have become another exception on its way.
        boolean isOther = false;
        for (int at = from; at < stack.length; at++) {
            String name = stack[at].getClassName();
            if (isOf(name, REFLECTION)) {
                isOther = true;
                continue;
            }
            if (isOf(name, RUNNERS) && !isOf(name, WAIT_ALL_THE_SAME)) {
                isOther = false;
                continue;
            }
            if (name.startsWith("org.assertj.") && name.contains("$ByteBuddy$")) {
                continue;
            }
            List<Handlers.Handler> handlers = handlers(stack[at]);
            if (handlers == null) {
                return name + " could catch its failure";
            }
            for (Handlers.Handler handler : handlers) {
                boolean catches = handler.type == null || isOther || isOne(thrown, handler.type);
                if (catches && handler.mayGoOn) {
                    return stack[at].getFileName() + ":" + stack[at].getLineNumber() + " would catch its failure";
                }
                isOther |= catches && handler.type != null;
            }
        }
        return null;
    }

    private static boolean isOf(String name, String[] families) {
        for (String family : families) {
            if (name.startsWith(family)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOne(Throwable thrown, String type) {
        try {
            return Class.forName(type, false, loader()).isInstance(thrown);
        } catch (ClassNotFoundException | LinkageError unknown) {
            return true;
        }
    }

    /** What this line catches; null: nobody knows. */
    private static List<Handlers.Handler> handlers(StackTraceElement frame) {
        List<Handlers.Handler> known = KNOWN.get(frame);
        if (known == null) {
            try (InputStream in = loader().getResourceAsStream(frame.getClassName().replace('.', '/') + ".class")) {
                known = in == null ? null : Handlers.at(Bytes.of(in), frame.getMethodName(), frame.getLineNumber());
            } catch (IOException | RuntimeException problem) {
                return null;
            }
            if (known != null) {
                KNOWN.put(frame, known);
            }
        }
        return known;
    }

    private static ClassLoader loader() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return loader == null ? ClassLoader.getSystemClassLoader() : loader;
    }
}
