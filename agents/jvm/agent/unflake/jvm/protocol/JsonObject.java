package unflake.jvm.protocol;

/** A JSON object under construction. */
public final class JsonObject {
    private final StringBuilder text = new StringBuilder("{");

    /** Leaves the field out if the value is null. */
    public JsonObject put(String name, Object value) {
        if (value != null) {
            if (text.length() > 1) {
                text.append(',');
            }
            Json.append(text, name);
            text.append(':');
            Json.append(text, value);
        }
        return this;
    }

    @Override
    public String toString() {
        return text + "}";
    }
}
