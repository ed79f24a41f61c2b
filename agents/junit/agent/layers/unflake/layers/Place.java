package unflake.layers;

/** Where in the sources an assertion is. */
final class Place {
    final String file;
    final String function;
    final String expression;
    final int ordinal;
    final int line;

    Place(String file, String function, String expression, int ordinal, int line) {
        this.file = file;
        this.function = function;
        this.expression = expression;
        this.ordinal = ordinal;
        this.line = line;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Place && line == ((Place) other).line && file.equals(((Place) other).file) && function.equals(((Place) other).function);
    }

    @Override
    public int hashCode() {
        return 31 * file.hashCode() + line;
    }
}
