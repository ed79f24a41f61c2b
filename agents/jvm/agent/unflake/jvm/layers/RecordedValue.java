package unflake.jvm.layers;

import unflake.jvm.protocol.JsonObject;
import unflake.jvm.util.ValueFormatter;

/** Converts a value that an assertion evaluated to JSON. */
final class RecordedValue {
    private static final int MAX_LENGTH = 1000;

    private RecordedValue() {
    }

    /** Numbers and strings as themselves; other objects as their class and, if known, contents. */
    static Object of(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Integer) {
            return value;
        }
        if (value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return Double.isNaN(number) || Double.isInfinite(number) ? describe(value) : (Object) number;
        }
        if (value instanceof String || value instanceof Character) {
            String text = value.toString();
            return text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH) + "… " + text.length() + " characters";
        }
        return value instanceof Enum ? ((Enum<?>) value).name() : describe(value);
    }

    private static JsonObject describe(Object value) {
        Class<?> type = value.getClass();
        // Classes that are generated at run time have another name in each run.
        String name = type.isArray() ? type.getComponentType().getSimpleName() + "[]" : type.getName().replaceFirst("\\$\\$.*", "");
        String text = ValueFormatter.format(value);
        // The text of an object that is not inspected repeats its class.
        return new JsonObject().put("type", name).put("text", text.startsWith("<") ? null : text);
    }
}
