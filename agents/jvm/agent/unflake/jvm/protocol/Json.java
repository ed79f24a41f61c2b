package unflake.jvm.protocol;

/** JSON text in ASCII, so that neither the platform encoding nor lone surrogates corrupt it. */
public final class Json {
    private Json() {
    }

    /** Accepts null, numbers, booleans, {@link JsonObject}s, collections of these, and strings. */
    public static String of(Object value) {
        StringBuilder text = new StringBuilder();
        append(text, value);
        return text.toString();
    }

    static void append(StringBuilder text, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof JsonObject) {
            text.append(value);
        } else if (value instanceof Iterable) {
            String separator = "[";
            for (Object element : (Iterable<?>) value) {
                text.append(separator);
                append(text, element);
                separator = ",";
            }
            text.append(separator.equals("[") ? "[]" : "]");
        } else {
            quote(text, value.toString());
        }
    }

    private static void quote(StringBuilder text, String value) {
        text.append('"');
        for (int index = 0; index < value.length(); index++) {
            char character = value.charAt(index);
            if (character == '"' || character == '\\') {
                text.append('\\').append(character);
            } else if (Character.isSurrogate(character) && !isHalfOfPair(value, index)) {
                text.append("\\\\u").append(Integer.toHexString(character));
            } else if (character < ' ' || character > '~') {
                String digits = Integer.toHexString(character);
                text.append("\\u").append("0000", digits.length(), 4).append(digits);
            } else {
                text.append(character);
            }
        }
        text.append('"');
    }

    private static boolean isHalfOfPair(String value, int index) {
        boolean withNext = index + 1 < value.length() && Character.isSurrogatePair(value.charAt(index), value.charAt(index + 1));
        return withNext || index > 0 && Character.isSurrogatePair(value.charAt(index - 1), value.charAt(index));
    }
}
