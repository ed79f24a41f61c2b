package unflake.junit;

import java.lang.ref.Reference;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import unflake.lines.Shown;

/** How an object is looked at. */
enum Shapes {
    /** Never changes, or is compared as a whole: a number, a text, a date. */
    VALUE,
    /** Not looked into: threads, class loaders, locks, most of the JDK, JUnit. */
    OPAQUE,
    /** Of the JDK, with nothing inside that anybody would name: a builder of texts, a counter. */
    PLAIN,
    MAP, SET, LIST,
    /** A queue and the like: what is in it counts, and in which order. */
    BAG,
    ARRAY,
    /** By its fields. */
    OBJECT;

    /** Packages of whoever runs tests. */
    private static final String[] RUNNERS = {
        "unflake.junit.", "org.junit.", "junit.", "org.opentest4j.", "org.apiguardian.", "org.apache.maven.surefire.", "org.hamcrest."
    };
    private static final String[] PLAINS = {
        "java.lang.StringBuilder", "java.lang.StringBuffer", "java.util.BitSet", "java.util.Date", "java.util.GregorianCalendar",
        "java.util.Random", "java.util.concurrent.atomic.AtomicInteger", "java.util.concurrent.atomic.AtomicLong",
        "java.util.concurrent.atomic.AtomicBoolean", "java.util.concurrent.atomic.LongAdder", "java.io.ByteArrayOutputStream",
        "java.util.concurrent.atomic.DoubleAdder", "java.util.concurrent.atomic.LongAccumulator", "java.io.StringWriter",
        "java.util.concurrent.atomic.AtomicIntegerArray", "java.util.concurrent.atomic.AtomicLongArray", "java.util.StringJoiner"
    };

    static Shapes of(Object it) {
        Class<?> type = it.getClass();
        if (type.isArray()) {
            return ARRAY;
        }
        if (isValue(it) && !(it instanceof Enum && !isJdk(type))) {
            return VALUE;
        }
        if (!isJdk(type)) {
            boolean closed = it instanceof Thread || it instanceof ClassLoader || it instanceof ThreadLocal || it instanceof Throwable
                    || it instanceof Reference || isOfRunner(type.getName());
            return closed ? OPAQUE : OBJECT;
        }
        String name = type.getName();
        if (name.startsWith("java.util.")) {
            if (isWrapper(name)) {
                return OBJECT;
            }
            if (it instanceof Map) {
                return MAP;
            }
            if (it instanceof java.util.Set) {
                return SET;
            }
            if (it instanceof java.util.List) {
                return LIST;
            }
            if (it instanceof Collection) {
                return BAG;
            }
        }
        return isPlain(it) ? PLAIN : OPAQUE;
    }

    /** Holds another object of which it is a view; nobody names the field between them. */
    static boolean isWrapper(String name) {
        return name.startsWith("java.util.Collections$Unmodifiable") || name.startsWith("java.util.Collections$Synchronized")
                || name.startsWith("java.util.Collections$Checked") || name.startsWith("java.util.concurrent.atomic.AtomicReference");
    }

    static boolean isJdk(Class<?> type) {
        ClassLoader loader = type.getClassLoader();
        return loader == null || loader == PLATFORM;
    }

    private static final ClassLoader PLATFORM = ClassLoader.getSystemClassLoader().getParent();

    static boolean isOfRunner(String name) {
        for (String runner : RUNNERS) {
            if (name.startsWith(runner)) {
                return true;
            }
        }
        return false;
    }

    static boolean isPlain(Object it) {
        String name = it.getClass().getName();
        for (String plain : PLAINS) {
            if (name.equals(plain)) {
                return true;
            }
        }
        return false;
    }

    /** Immutable and of the JDK, so that one is as good as another that equals it. */
    static boolean isValue(Object it) {
        if (isSimple(it)) {
            return true;
        }
        Class<?> type = it.getClass();
        String name = type.getName();
        return isJdk(type)
                && (name.startsWith("java.time.") || name.startsWith("java.math.") || it instanceof java.io.File
                        || it instanceof java.nio.file.Path || name.equals("java.net.URI") || name.equals("java.util.UUID")
                        || name.equals("java.util.Locale") || it instanceof java.nio.charset.Charset);
    }

    /** What keys can be named by; its {@code hashCode} and {@code equals} are the JDK's. */
    static boolean isSimple(Object it) {
        return it instanceof String || it instanceof Enum || it instanceof Class || it instanceof Boolean || it instanceof Character
                || it instanceof Integer || it instanceof Long || it instanceof Short || it instanceof Byte || it instanceof Double
                || it instanceof Float;
    }

    /** How a key or an element is named in a path. */
    static String key(Object it) {
        boolean isNamed = it == null || isSimple(it) || it instanceof BigInteger || it instanceof BigDecimal || it instanceof Locale;
        return isNamed ? Shown.of(it, 0) : Shown.nameOf(it.getClass());
    }

    /** Whether two values are the same for whoever reads them. */
    static boolean same(Object one, Object other) {
        return one == other || one != null && other != null && one.getClass() == other.getClass() && isValue(one) && one.equals(other);
    }
}
