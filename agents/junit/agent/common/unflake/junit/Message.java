package unflake.junit;

/** A JSON object in the making. Values are texts, numbers, truth values, objects, and lists of these. */
final class Message {
    private final StringBuilder text = new StringBuilder("{");

    Message put(String name, Object value) {
        if (value == null) {
            return this;
        }
        if (text.length() > 1) {
            text.append(',');
        }
        quote(name);
        text.append(':');
        add(value);
        return this;
    }

    private void add(Object value) {
        if (value instanceof Number || value instanceof Boolean || value instanceof Message) {
            text.append(value);
        } else if (value instanceof Iterable) {
            String before = "[";
            for (Object one : (Iterable<?>) value) {
                text.append(before);
                add(one);
                before = ",";
            }
            text.append(before.equals("[") ? "[]" : "]");
        } else {
            quote(value.toString());
        }
    }

    /** In ASCII alone, so that no encoding of the system and no lone surrogate can spoil it. */
    private void quote(String value) {
        text.append('"');
        for (int at = 0; at < value.length(); at++) {
            char one = value.charAt(at);
            if (one == '"' || one == '\\') {
                text.append('\\').append(one);
            } else if (Character.isSurrogate(one) && !isHalfOfPair(value, at)) {
                text.append("\\\\u").append(Integer.toHexString(one));
            } else if (one < ' ' || one > '~') {
                String digits = Integer.toHexString(one);
                text.append("\\u").append("0000", digits.length(), 4).append(digits);
            } else {
                text.append(one);
            }
        }
        text.append('"');
    }

    private static boolean isHalfOfPair(String value, int at) {
        boolean withNext = at + 1 < value.length() && Character.isSurrogatePair(value.charAt(at), value.charAt(at + 1));
        return withNext || at > 0 && Character.isSurrogatePair(value.charAt(at - 1), value.charAt(at));
    }

    @Override
    public String toString() {
        return text + "}";
    }
}
