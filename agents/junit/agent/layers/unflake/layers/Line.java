package unflake.layers;

/** A JSON array in the making. */
final class Line {
    private final StringBuilder text = new StringBuilder("[");
    private boolean isFirst = true;

    Line(String kind) {
        add(kind);
    }

    Line open() {
        comma();
        text.append('[');
        isFirst = true;
        return this;
    }

    Line close() {
        text.append(']');
        isFirst = false;
        return this;
    }

    /** Texts, numbers that JSON can carry, truth values, null, and what {@link Value} makes of others. */
    Line add(Object value) {
        comma();
        if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Integer || value instanceof Double) {
            text.append(value);
        } else if (value instanceof Value) {
            ((Value) value).write(this, text);
        } else {
            quote(value.toString());
        }
        return this;
    }

    private void comma() {
        if (!isFirst) {
            text.append(',');
        }
        isFirst = false;
    }

    /** In ASCII alone; half a pair of characters is told as it would be written. */
    void quote(String value) {
        text.append('"');
        for (int at = 0; at < value.length(); at++) {
            char one = value.charAt(at);
            boolean isPair = Character.isHighSurrogate(one) && at + 1 < value.length() && Character.isLowSurrogate(value.charAt(at + 1));
            boolean isRest = Character.isLowSurrogate(one) && at > 0 && Character.isHighSurrogate(value.charAt(at - 1));
            if (one == '"' || one == '\\') {
                text.append('\\').append(one);
            } else if (Character.isSurrogate(one) && !isPair && !isRest) {
                text.append("\\\\u").append(Integer.toHexString(one));
            } else if (one < ' ' || one > '~') {
                text.append(String.format("\\u%04x", (int) one));
            } else {
                text.append(one);
            }
        }
        text.append('"');
    }

    @Override
    public String toString() {
        return text + "]";
    }
}
