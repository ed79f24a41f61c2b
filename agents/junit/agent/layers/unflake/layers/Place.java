package unflake.layers;

/** Where in the sources an assertion is. */
final class Place {
    final String file;
    final String function;
    final String expression;
    final int ordinal;
    final int line;
    /** Its place among all assertions of the sources; -1 where it is not certain which of them it is. */
    final int site;

    Place(String file, String function, String expression, int ordinal, int line, int site) {
        this.file = file;
        this.function = function;
        this.expression = expression;
        this.ordinal = ordinal;
        this.line = line;
        this.site = site;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Place && isSame((Place) other);
    }

    private boolean isSame(Place other) {
        return line == other.line && site == other.site && file.equals(other.file) && function.equals(other.function);
    }

    @Override
    public int hashCode() {
        return 31 * file.hashCode() + line;
    }

    @Override
    public String toString() {
        return file + ":" + line;
    }
}
