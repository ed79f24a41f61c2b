package unflake.jvm.state;

import java.lang.ref.Reference;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import unflake.jvm.util.ValueFormatter;

/** How an object is inspected. */
enum ObjectShape {
    /** Immutable or compared as a whole: numbers, strings, dates. */
    VALUE,
    /** Not inspected: threads, class loaders, locks, most of the JDK, JUnit. */
    OPAQUE,
    /** A JDK object without named parts: string builders, counters. */
    PLAIN,
    MAP, SET, LIST,
    /** Queues and the like: elements and their order matter. */
    QUEUE,
    ARRAY,
    /** By its fields. */
    OBJECT;

    /** Packages of test runners. */
    private static final String[] RUNNER_PACKAGES = {
        "unflake.jvm.", "org.junit.", "junit.", "org.opentest4j.", "org.apiguardian.", "org.apache.maven.surefire.", "org.hamcrest."
    };
    private static final String[] PLAIN_CLASSES = {
        "java.lang.StringBuilder", "java.lang.StringBuffer", "java.util.BitSet", "java.util.Date", "java.util.GregorianCalendar",
        "java.util.Random", "java.util.concurrent.atomic.AtomicInteger", "java.util.concurrent.atomic.AtomicLong",
        "java.util.concurrent.atomic.AtomicBoolean", "java.util.concurrent.atomic.LongAdder", "java.io.ByteArrayOutputStream",
        "java.util.concurrent.atomic.DoubleAdder", "java.util.concurrent.atomic.LongAccumulator", "java.io.StringWriter",
        "java.util.concurrent.atomic.AtomicIntegerArray", "java.util.concurrent.atomic.AtomicLongArray", "java.util.StringJoiner"
    };

    static ObjectShape of(Object target) {
        Class<?> type = target.getClass();
        if (type.isArray()) {
            return ARRAY;
        }
        if (isValue(target) && !(target instanceof Enum && !isJdk(type))) {
            return VALUE;
        }
        if (!isJdk(type)) {
            boolean isOpaque = target instanceof Thread || target instanceof ClassLoader || target instanceof ThreadLocal || target instanceof Throwable
                    || target instanceof Reference || isRunnerClass(type.getName());
            return isOpaque ? OPAQUE : OBJECT;
        }
        String name = type.getName();
        if (name.startsWith("java.util.")) {
            if (isWrapper(name)) {
                return OBJECT;
            }
            if (target instanceof Map) {
                return MAP;
            }
            if (target instanceof java.util.Set) {
                return SET;
            }
            if (target instanceof java.util.List) {
                return LIST;
            }
            if (target instanceof Collection) {
                return QUEUE;
            }
        }
        return isPlain(target) ? PLAIN : OPAQUE;
    }

    /** A view of another object; the field between them does not appear in paths. */
    static boolean isWrapper(String name) {
        return name.startsWith("java.util.Collections$Unmodifiable") || name.startsWith("java.util.Collections$Synchronized")
                || name.startsWith("java.util.Collections$Checked") || name.startsWith("java.util.concurrent.atomic.AtomicReference");
    }

    static boolean isJdk(Class<?> type) {
        ClassLoader loader = type.getClassLoader();
        return loader == null || loader == PLATFORM_LOADER;
    }

    private static final ClassLoader PLATFORM_LOADER = ClassLoader.getSystemClassLoader().getParent();

    static boolean isRunnerClass(String name) {
        for (String runner : RUNNER_PACKAGES) {
            if (name.startsWith(runner)) {
                return true;
            }
        }
        return false;
    }

    static boolean isPlain(Object target) {
        String name = target.getClass().getName();
        for (String plain : PLAIN_CLASSES) {
            if (name.equals(plain)) {
                return true;
            }
        }
        return false;
    }

    /** Immutable and from the JDK, so that equal instances are interchangeable. */
    static boolean isValue(Object target) {
        if (isSimple(target)) {
            return true;
        }
        Class<?> type = target.getClass();
        String name = type.getName();
        return isJdk(type)
                && (name.startsWith("java.time.") || name.startsWith("java.math.") || target instanceof java.io.File
                        || target instanceof java.nio.file.Path || name.equals("java.net.URI") || name.equals("java.util.UUID")
                        || name.equals("java.util.Locale") || target instanceof java.nio.charset.Charset);
    }

    /** Values that name keys in a path; {@code hashCode} and {@code equals} are the JDK's. */
    static boolean isSimple(Object target) {
        return target instanceof String || target instanceof Enum || target instanceof Class || target instanceof Boolean || target instanceof Character
                || target instanceof Integer || target instanceof Long || target instanceof Short || target instanceof Byte || target instanceof Double
                || target instanceof Float;
    }

    /** The name of a key or element in a path. */
    static String key(Object target) {
        boolean isNamed = target == null || isSimple(target) || target instanceof BigInteger || target instanceof BigDecimal || target instanceof Locale;
        return isNamed ? ValueFormatter.format(target, 0) : ValueFormatter.nameOf(target.getClass());
    }

    /** Whether the two values are indistinguishable to readers. */
    static boolean same(Object first, Object second) {
        return first == second || first != null && second != null && first.getClass() == second.getClass() && isValue(first) && first.equals(second);
    }
}
