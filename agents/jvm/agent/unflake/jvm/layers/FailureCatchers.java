package unflake.jvm.layers;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import unflake.jvm.bytecode.ExceptionHandlers;
import unflake.jvm.util.Streams;

/**
 * Finds code other than the runner that would catch the failure of an assertion: {@code
 * assertThrows}, a {@code try} block, a rule that repeats a test. Such a failure must not be
 * ignored, because that would change what the test does.
 */
final class FailureCatchers {
    /**
     * Runners, and collectors that report all failures at the end: catching a failure is their
     * task.
     */
    private static final String[] RUNNER_CLASSES = {
        "unflake.", "org.junit.platform.", "org.junit.jupiter.engine.", "org.junit.jupiter.params.", "org.junit.jupiter.api.AssertAll",
        "org.junit.vintage.", "org.junit.runner", "org.junit.internal.runners.", "org.junit.rules.", "junit.framework.",
        "org.assertj.core.api.ErrorCollector"
    };
    private static final String[] CATCHING_CLASSES = {"org.junit.internal.runners.statements.ExpectException", "org.junit.rules.ExpectedException"};
    /** Reflection and generated classes wrap exceptions in others. */
    private static final String[] REFLECTION = {"java.lang.reflect.", "jdk.internal.reflect.", "sun.reflect.", "java.lang.invoke.", "com.sun.proxy.", "jdk.proxy"};
    private static final Map<StackTraceElement, List<ExceptionHandlers.Handler>> HANDLERS = new ConcurrentHashMap<>();

    private FailureCatchers() {
    }

    /**
     * Describes the first frame from this one on that would catch the exception; null if there is
     * none.
     */
    static String find(Throwable thrown, StackTraceElement[] stack, int from) {
        // Whether the exception may have been wrapped on its way.
        boolean isWrapped = false;
        for (int index = from; index < stack.length; index++) {
            String className = stack[index].getClassName();
            if (startsWithAny(className, REFLECTION)) {
                isWrapped = true;
                continue;
            }
            if (startsWithAny(className, RUNNER_CLASSES) && !startsWithAny(className, CATCHING_CLASSES)) {
                isWrapped = false;
                continue;
            }
            if (className.startsWith("org.assertj.") && className.contains("$ByteBuddy$")) {
                continue;
            }
            List<ExceptionHandlers.Handler> handlers = handlersOf(stack[index]);
            if (handlers == null) {
                return className + " could catch its failure";
            }
            for (ExceptionHandlers.Handler handler : handlers) {
                boolean catches = handler.type == null || isWrapped || isInstance(thrown, handler.type);
                if (catches && handler.canReturn) {
                    return stack[index].getFileName() + ":" + stack[index].getLineNumber() + " would catch its failure";
                }
                isWrapped |= catches && handler.type != null;
            }
        }
        return null;
    }

    private static boolean startsWithAny(String className, String[] prefixes) {
        for (String prefix : prefixes) {
            if (className.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isInstance(Throwable thrown, String type) {
        try {
            return Class.forName(type, false, loader()).isInstance(thrown);
        } catch (ClassNotFoundException | LinkageError unknown) {
            return true;
        }
    }

    /** The handlers of this line; null if unknown. */
    private static List<ExceptionHandlers.Handler> handlersOf(StackTraceElement frame) {
        List<ExceptionHandlers.Handler> handlers = HANDLERS.get(frame);
        if (handlers == null) {
            try (InputStream in = loader().getResourceAsStream(frame.getClassName().replace('.', '/') + ".class")) {
                handlers = in == null ? null : ExceptionHandlers.covering(Streams.readAll(in), frame.getMethodName(), frame.getLineNumber());
            } catch (IOException | RuntimeException error) {
                return null;
            }
            if (handlers != null) {
                HANDLERS.put(frame, handlers);
            }
        }
        return handlers;
    }

    private static ClassLoader loader() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return loader == null ? ClassLoader.getSystemClassLoader() : loader;
    }
}
