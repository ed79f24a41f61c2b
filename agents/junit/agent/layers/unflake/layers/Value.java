package unflake.layers;

import unflake.lines.Shown;

/** What an assertion saw that is neither a number that JSON can carry nor a text: its class and, where that can be said, what is in it. */
final class Value {
    private static final int LONGEST = 1000;

    private final String type;
    private final String text;

    private Value(Object seen) {
        Class<?> type = seen.getClass();
        // A class that was made while running has another name each time.
        this.type = type.isArray() ? type.getComponentType().getSimpleName() + "[]" : type.getName().replaceFirst("\\$\\$.*", "");
        text = Shown.of(seen);
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
            return Double.isNaN(number) || Double.isInfinite(number) ? new Value(seen) : (Object) number;
        }
        if (seen instanceof String || seen instanceof Character) {
            String text = seen.toString();
            return text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "… " + text.length() + " characters";
        }
        return seen instanceof Enum ? ((Enum<?>) seen).name() : new Value(seen);
    }

    void write(Line line, StringBuilder out) {
        out.append("{\"type\":");
        line.quote(type);
        // Of what is not looked into, the text only says the class again.
        if (!text.startsWith("<")) {
            out.append(",\"text\":");
            line.quote(text);
        }
        out.append('}');
    }
}
