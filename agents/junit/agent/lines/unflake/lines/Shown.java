package unflake.lines;

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
 * Texts for values, made from types alone: no code of the project runs. Items stand in the order in which a loop would meet them,
 * because that order is hunted.
 */
public final class Shown {
    private static final int MOST_ITEMS = 20;
    private static final int LONGEST = 200;
    /** Those that can be walked through without asking what is in them. */
    private static final Set<String> WALKED = new HashSet<>(Arrays.asList(
        "java.util.ArrayList", "java.util.LinkedList", "java.util.ArrayDeque", "java.util.HashSet", "java.util.LinkedHashSet",
        "java.util.TreeSet", "java.util.HashMap", "java.util.LinkedHashMap", "java.util.TreeMap", "java.util.Arrays$ArrayList",
        "java.util.concurrent.ConcurrentHashMap", "java.util.concurrent.CopyOnWriteArrayList", "java.util.concurrent.ConcurrentLinkedQueue",
        "java.util.ImmutableCollections$ListN", "java.util.ImmutableCollections$List12", "java.util.ImmutableCollections$SetN",
        "java.util.ImmutableCollections$Set12", "java.util.ImmutableCollections$MapN", "java.util.ImmutableCollections$Map1"));
    /** Those that have a text of their own which says what they are, and is not long. */
    private static final Set<String> SAID = new HashSet<>(Arrays.asList(
        "java.lang.Boolean", "java.util.UUID", "java.util.Locale", "java.util.Date", "java.util.BitSet", "java.io.File", "java.net.URI",
        "java.util.concurrent.atomic.AtomicBoolean", "java.util.concurrent.atomic.AtomicIntegerArray",
        "java.util.concurrent.atomic.AtomicLongArray"));

    private Shown() {
    }

    public static String of(Object value) {
        return of(value, 2);
    }

    /** {@code deep}: through how many containers, one in the other, it is looked. */
    public static String of(Object value, int deep) {
        try {
            return text(value, deep);
        } catch (RuntimeException changing) {
            // Another thread is at work on it.
            return "<" + nameOf(value.getClass()) + ">";
        }
    }

    /** What a container holds or held, by a word for each; of a map, each key with its value behind it. */
    public static String of(Object[] contents, boolean isMap, Function<Object, String> word) {
        StringBuilder text = new StringBuilder();
        int step = isMap ? 2 : 1;
        int shown = 0;
        for (; shown < MOST_ITEMS && text.length() < LONGEST && shown * step < contents.length; shown++) {
            text.append(shown == 0 ? "" : ", ").append(word.apply(contents[shown * step]));
            text.append(isMap ? ": " + word.apply(contents[shown * step + 1]) : "");
        }
        return closed(text, shown, contents.length / step, isMap ? "{}" : "[]");
    }

    /** Without the numbers of what the JVM makes up. */
    public static String nameOf(Class<?> type) {
        String name = type.getSimpleName();
        int lambda = type.getName().indexOf("$$Lambda");
        if (lambda >= 0) {
            String maker = type.getName().substring(0, lambda);
            return "a lambda of " + maker.substring(maker.lastIndexOf('.') + 1);
        }
        return name.isEmpty() ? type.getName().substring(type.getName().lastIndexOf('.') + 1) : name;
    }

    private static String text(Object value, int deep) {
        String itself = itself(value);
        if (itself != null) {
            return itself;
        }
        Class<?> type = value.getClass();
        boolean isWalked = WALKED.contains(type.getName());
        if (deep > 0 && type.isArray()) {
            return array(value, deep);
        }
        if (deep > 0 && isWalked && value instanceof Collection) {
            return items(((Collection<?>) value).iterator(), ((Collection<?>) value).size(), deep, "[]");
        }
        if (deep > 0 && isWalked && value instanceof Map) {
            return items(((Map<?, ?>) value).entrySet().iterator(), ((Map<?, ?>) value).size(), deep, "{}");
        }
        return "<" + nameOf(type) + ">";
    }

    /** Of what stands for itself; null: it does not. */
    private static String itself(Object value) {
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
        boolean isSaid = SAID.contains(name) || name.startsWith("java.time.") || value instanceof Number && name.startsWith("java.")
            || value instanceof Path && name.startsWith("sun.nio.fs.") || value instanceof Charset && name.startsWith("sun.nio.cs.");
        return isSaid ? cut(value.toString()) : null;
    }

    private static String array(Object array, int deep) {
        int size = Array.getLength(array);
        Object[] first = new Object[Math.min(size, MOST_ITEMS)];
        for (int at = 0; at < first.length; at++) {
            first[at] = Array.get(array, at);
        }
        return items(Arrays.asList(first).iterator(), size, deep, "[]");
    }

    private static String items(Iterator<?> all, int size, int deep, String brackets) {
        StringBuilder text = new StringBuilder();
        int shown = 0;
        for (; shown < MOST_ITEMS && text.length() < LONGEST && all.hasNext(); shown++) {
            Object one = all.next();
            text.append(shown == 0 ? "" : ", ");
            if (brackets.equals("{}")) {
                Map.Entry<?, ?> entry = (Map.Entry<?, ?>) one;
                text.append(text(entry.getKey(), deep - 1)).append(": ").append(text(entry.getValue(), deep - 1));
            } else {
                text.append(text(one, deep - 1));
            }
        }
        return closed(text, shown, size, brackets);
    }

    private static String closed(StringBuilder items, int shown, int size, String brackets) {
        if (shown < size) {
            items.append(shown == 0 ? "" : ", … ").append(size).append(" items");
        }
        return brackets.charAt(0) + items.toString() + brackets.charAt(1);
    }

    private static String quoted(CharSequence text, char quote) {
        String plain = cut(text).replace("\\", "\\\\").replace("\n", "\\n").replace(String.valueOf(quote), "\\" + quote);
        return quote + plain + quote;
    }

    private static String cut(CharSequence text) {
        return text.length() > LONGEST ? text.subSequence(0, LONGEST) + "…" : text.toString();
    }
}
