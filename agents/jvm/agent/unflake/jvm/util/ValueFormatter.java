package unflake.jvm.util;

import java.io.ByteArrayOutputStream;
import java.lang.reflect.Array;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Texts for values, based on their types alone: no project code runs. Elements keep their iteration
 * order, which may be the cause of a failure.
 */
public final class ValueFormatter {
    private static final int MAX_ITEMS = 20;
    private static final int MAX_LENGTH = 200;
    /** Collections that can be iterated without calling project code. */
    private static final Set<String> ITERABLE_CLASSES = new HashSet<>(Arrays.asList(
        "java.util.ArrayList", "java.util.LinkedList", "java.util.ArrayDeque", "java.util.HashSet", "java.util.LinkedHashSet",
        "java.util.TreeSet", "java.util.HashMap", "java.util.LinkedHashMap", "java.util.TreeMap", "java.util.Arrays$ArrayList",
        "java.util.concurrent.ConcurrentHashMap", "java.util.concurrent.CopyOnWriteArrayList", "java.util.concurrent.ConcurrentLinkedQueue",
        "java.util.ImmutableCollections$ListN", "java.util.ImmutableCollections$List12", "java.util.ImmutableCollections$SetN",
        "java.util.ImmutableCollections$Set12", "java.util.ImmutableCollections$MapN", "java.util.ImmutableCollections$Map1"));
    /** Classes with a short and complete {@code toString}. */
    private static final Set<String> PRINTABLE_CLASSES = new HashSet<>(Arrays.asList(
        "java.lang.Boolean", "java.util.UUID", "java.util.Locale", "java.util.Date", "java.util.BitSet", "java.io.File", "java.net.URI",
        "java.util.concurrent.atomic.AtomicBoolean", "java.util.concurrent.atomic.AtomicIntegerArray",
        "java.util.concurrent.atomic.AtomicLongArray"));

    private ValueFormatter() {
    }

    public static String format(Object value) {
        return format(value, 2);
    }

    /** {@code depth}: how many levels of nested containers are included. */
    public static String format(Object value, int depth) {
        try {
            return text(value, depth);
        } catch (RuntimeException concurrentChange) {
            // Another thread modifies the value.
            return "<" + nameOf(value.getClass()) + ">";
        }
    }

    /** The contents of a container; those of a map alternate keys and values. */
    public static String format(Object[] contents, boolean isMap, Function<Object, String> formatter) {
        StringBuilder text = new StringBuilder();
        int stride = isMap ? 2 : 1;
        int count = 0;
        for (; count < MAX_ITEMS && text.length() < MAX_LENGTH && count * stride < contents.length; count++) {
            text.append(count == 0 ? "" : ", ").append(formatter.apply(contents[count * stride]));
            text.append(isMap ? ": " + formatter.apply(contents[count * stride + 1]) : "");
        }
        return closed(text, count, contents.length / stride, isMap ? "{}" : "[]");
    }

    /** A name without the numbers of generated classes. */
    public static String nameOf(Class<?> type) {
        String name = type.getSimpleName();
        int lambda = type.getName().indexOf("$$Lambda");
        if (lambda >= 0) {
            String declaring = type.getName().substring(0, lambda);
            return "a lambda of " + declaring.substring(declaring.lastIndexOf('.') + 1);
        }
        return name.isEmpty() ? type.getName().substring(type.getName().lastIndexOf('.') + 1) : name;
    }

    /** Whether its size is known without calling project code. */
    public static boolean isKnownContainer(Object value) {
        return ITERABLE_CLASSES.contains(value.getClass().getName());
    }

    private static String text(Object value, int depth) {
        String scalar = scalar(value);
        if (scalar != null) {
            return scalar;
        }
        Class<?> type = value.getClass();
        boolean isIterable = ITERABLE_CLASSES.contains(type.getName());
        if (depth > 0 && type.isArray()) {
            return array(value, depth);
        }
        if (depth > 0 && isIterable && value instanceof Collection) {
            return items(((Collection<?>) value).iterator(), ((Collection<?>) value).size(), depth, "[]");
        }
        if (depth > 0 && isIterable && value instanceof Map) {
            return items(((Map<?, ?>) value).entrySet().iterator(), ((Map<?, ?>) value).size(), depth, "{}");
        }
        return "<" + nameOf(type) + ">";
    }

    /** Text of a value that is not a container; null for others. */
    private static String scalar(Object value) {
        if (value == null) {
            return "null";
        }
        String name = value.getClass().getName();
        if (value instanceof String || name.equals("java.lang.StringBuilder") || name.equals("java.lang.StringBuffer")) {
            return quoted((CharSequence) value, '"');
        }
        if (value instanceof Character) {
            return quoted(value.toString(), '\'');
        }
        if (value instanceof Enum) {
            return ((Enum<?>) value).name();
        }
        if (value instanceof Class) {
            return ((Class<?>) value).getName();
        }
        if (value.getClass() == ByteArrayOutputStream.class) {
            return ((ByteArrayOutputStream) value).size() + " bytes";
        }
        boolean isPrintable = PRINTABLE_CLASSES.contains(name) || name.startsWith("java.time.") || value instanceof Number && name.startsWith("java.")
            || value instanceof Path && name.startsWith("sun.nio.fs.") || value instanceof Charset && name.startsWith("sun.nio.cs.");
        return isPrintable ? cut(value.toString()) : null;
    }

    private static String array(Object array, int depth) {
        int size = Array.getLength(array);
        Object[] first = new Object[Math.min(size, MAX_ITEMS)];
        for (int index = 0; index < first.length; index++) {
            first[index] = Array.get(array, index);
        }
        return items(Arrays.asList(first).iterator(), size, depth, "[]");
    }

    private static String items(Iterator<?> iterator, int size, int depth, String brackets) {
        StringBuilder text = new StringBuilder();
        int count = 0;
        for (; count < MAX_ITEMS && text.length() < MAX_LENGTH && iterator.hasNext(); count++) {
            Object item = iterator.next();
            text.append(count == 0 ? "" : ", ");
            if (brackets.equals("{}")) {
                Map.Entry<?, ?> entry = (Map.Entry<?, ?>) item;
                text.append(text(entry.getKey(), depth - 1)).append(": ").append(text(entry.getValue(), depth - 1));
            } else {
                text.append(text(item, depth - 1));
            }
        }
        return closed(text, count, size, brackets);
    }

    private static String closed(StringBuilder items, int count, int size, String brackets) {
        if (count < size) {
            items.append(count == 0 ? "" : ", … ").append(size).append(" items");
        }
        return brackets.charAt(0) + items.toString() + brackets.charAt(1);
    }

    private static String quoted(CharSequence text, char quote) {
        String plain = cut(text).replace("\\", "\\\\").replace("\n", "\\n").replace(String.valueOf(quote), "\\" + quote);
        return quote + plain + quote;
    }

    private static String cut(CharSequence text) {
        return text.length() > MAX_LENGTH ? text.subSequence(0, MAX_LENGTH) + "…" : text.toString();
    }
}
