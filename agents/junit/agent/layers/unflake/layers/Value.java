package unflake.layers;

import java.lang.reflect.Array;
import java.util.Collection;
import java.util.Map;

/**
 * What an assertion saw, as text that is the same for the same. Nothing of the project is called to find out: what a class of its own
 * says of itself could change something, or hang.
 */
final class Value {
    private static final int ITEMS = 16;
    private static final int LONGEST = 1000;
    private static final int DEEPEST = 3;

    private final String type;
    private final int size;
    private final String text;

    private Value(String type, int size, String text) {
        this.type = type;
        this.size = size;
        this.text = text;
    }

    /** Something that {@link Line} can add. */
    static Object of(Object seen) {
        if (seen == null || seen instanceof Boolean || seen instanceof Long || seen instanceof Integer) {
            return seen;
        }
        if (seen instanceof Short || seen instanceof Byte) {
            return ((Number) seen).longValue();
        }
        if (seen instanceof Double || seen instanceof Float) {
            double number = ((Number) seen).doubleValue();
            return Double.isNaN(number) || Double.isInfinite(number) ? new Value(name(seen), -1, seen.toString()) : (Object) number;
        }
        if (seen instanceof String || seen instanceof Character) {
            return shortened(seen.toString());
        }
        if (seen instanceof Enum) {
            return ((Enum<?>) seen).name();
        }
        boolean hasItems = seen.getClass().isArray() || isOfJava(seen) && (seen instanceof Collection || seen instanceof Map);
        if (hasItems || isOfJava(seen) && (seen instanceof Number || seen instanceof Comparable)) {
            return new Value(name(seen), size(seen), shortened(text(seen, 0)));
        }
        return new Value(name(seen), -1, null);
    }

    void write(Line line, StringBuilder out) {
        out.append("{\"type\":");
        line.quote(type);
        if (size >= 0) {
            out.append(",\"size\":").append(size);
        }
        if (text != null) {
            out.append(",\"text\":");
            line.quote(text);
        }
        out.append('}');
    }

    private static boolean isOfJava(Object seen) {
        return seen.getClass().getName().startsWith("java.");
    }

    /** A class that was made while running has another name each time. */
    private static String name(Object seen) {
        Class<?> type = seen.getClass();
        return type.isArray() ? type.getComponentType().getSimpleName() + "[]" : type.getName().replaceFirst("\\$\\$.*", "");
    }

    private static int size(Object seen) {
        if (seen.getClass().isArray()) {
            return Array.getLength(seen);
        }
        return seen instanceof Collection ? ((Collection<?>) seen).size() : seen instanceof Map ? ((Map<?, ?>) seen).size() : -1;
    }

    private static String text(Object seen, int depth) {
        if (seen == null || seen instanceof Boolean) {
            return String.valueOf(seen);
        }
        if (seen instanceof Enum) {
            return ((Enum<?>) seen).name();
        }
        boolean isArray = seen.getClass().isArray();
        if (!isArray && !isOfJava(seen) || depth > DEEPEST) {
            return name(seen);
        }
        StringBuilder text = new StringBuilder();
        int items = 0;
        if (isArray) {
            for (; items < Math.min(Array.getLength(seen), ITEMS); items++) {
                text.append(items == 0 ? "" : ", ").append(text(Array.get(seen, items), depth + 1));
            }
        } else if (seen instanceof Collection) {
            for (Object item : (Collection<?>) seen) {
                if (items++ == ITEMS) {
                    break;
                }
                text.append(items == 1 ? "" : ", ").append(text(item, depth + 1));
            }
        } else if (seen instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) seen).entrySet()) {
                if (items++ == ITEMS) {
                    break;
                }
                text.append(items == 1 ? "" : ", ").append(text(entry.getKey(), depth + 1)).append('=').append(text(entry.getValue(), depth + 1));
            }
        } else {
            return seen instanceof CharSequence || seen instanceof Number || seen instanceof Comparable ? seen.toString() : name(seen);
        }
        return "[" + text + (size(seen) > ITEMS ? ", …" : "") + "]";
    }

    private static String shortened(String text) {
        return text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "… " + text.length() + " characters";
    }
}
