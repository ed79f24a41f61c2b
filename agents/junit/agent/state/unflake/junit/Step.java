package unflake.junit;

/** Where the search has come, and on which way. */
final class Step {
    final Object it;
    final Step above;
    final String segment;

    Step(Object it, Step above, String segment) {
        this.it = it;
        this.above = above;
        this.segment = segment;
    }

    String path() {
        return above == null ? segment : above.path() + segment;
    }
}
