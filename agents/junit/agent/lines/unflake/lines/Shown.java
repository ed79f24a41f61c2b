package unflake.lines;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;

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

    private Shown() {
    }

    public static String of(Object value) {
        try {
            return text(value, 2);
        } catch (RuntimeException changing) {
            // Another thread is at work on it.
            return "<" + value.getClass().getSimpleName() + ">";
        }
    }

    private static String text(Object value, int deep) {
        if (value == null) {
            return "null";
        }
        Class<?> type = value.getClass();
        if (value instanceof String) {
            return quoted((String) value);
        }
        if (value instanceof Enum) {
            return ((Enum<?>) value).name();
        }
        if (value instanceof Character) {
            return quoted(value.toString());
        }
        if (type == Boolean.class || value instanceof Number && type.getName().startsWith("java.")) {
            return value.toString();
        }
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
        boolean isOther = type.getName().startsWith("java.time.") || type.getName().equals("java.util.UUID");
        return isOther ? quoted(value.toString()) : "<" + type.getSimpleName() + ">";
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
        StringBuilder text = new StringBuilder().append(brackets.charAt(0));
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
        if (shown < size) {
            text.append(shown == 0 ? "" : ", … ").append(size).append(" items");
        }
        return text.append(brackets.charAt(1)).toString();
    }

    private static String quoted(String text) {
        String kept = text.length() > LONGEST ? text.substring(0, LONGEST) + "…" : text;
        return "'" + kept.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
