package unflake.junit;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;

/** Values in words. No code of the project is run for it. */
final class Texts {
    private static final int MOST = 160;

    private Texts() {
    }

    static String of(Object value) {
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
        if (value instanceof Class) {
            return ((Class<?>) value).getName();
        }
        if (value instanceof Character) {
            return "'" + value + "'";
        }
        if (type.isArray()) {
            String name = type.getComponentType().getSimpleName();
            return name + "[" + Array.getLength(value) + "]";
        }
        if (Shapes.isJdk(type)) {
            if (value instanceof Map) {
                return sized(type, ((Map<?, ?>) value).size());
            }
            if (value instanceof Collection) {
                return sized(type, ((Collection<?>) value).size());
            }
            if (value instanceof CharSequence) {
                return quoted(value.toString());
            }
            if (Shapes.isValue(value) || Shapes.isPlain(value)) {
                return cut(value.toString());
            }
        }
        return nameOf(type);
    }

    /** How a key or an element is named in a path. */
    static String key(Object value) {
        return value instanceof BigInteger || value instanceof BigDecimal || value instanceof Locale
                ? value.toString() : Shapes.isSimple(value) ? of(value) : nameOf(value.getClass());
    }

    private static String sized(Class<?> type, int size) {
        return nameOf(type) + " of " + size;
    }

    /** Without the numbers of what the JVM makes up. */
    static String nameOf(Class<?> type) {
        String name = type.getSimpleName();
        int lambda = type.getName().indexOf("$$Lambda");
        if (lambda >= 0) {
            String maker = type.getName().substring(0, lambda);
            return "a lambda of " + maker.substring(maker.lastIndexOf('.') + 1);
        }
        return name.isEmpty() ? type.getName().substring(type.getName().lastIndexOf('.') + 1) : name;
    }

    private static String quoted(String text) {
        return '"' + cut(text).replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }

    private static String cut(String text) {
        return text.length() <= MOST ? text : text.substring(0, MOST) + "…";
    }
}
