package unflake.jvm.layers;

/** The source location of an assertion. */
final class AssertionSite {
    final String file;
    final String function;
    final String expression;
    final int ordinal;
    final int line;
    /**
     * Position in the table of all assertions; -1 if the assertion cannot be identified for
     * certain.
     */
    final int number;

    AssertionSite(String file, String function, String expression, int ordinal, int line, int number) {
        this.file = file;
        this.function = function;
        this.expression = expression;
        this.ordinal = ordinal;
        this.line = line;
        this.number = number;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof AssertionSite && isSameAs((AssertionSite) other);
    }

    private boolean isSameAs(AssertionSite other) {
        return line == other.line && number == other.number && file.equals(other.file) && function.equals(other.function);
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
