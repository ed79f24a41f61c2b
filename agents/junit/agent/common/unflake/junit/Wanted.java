package unflake.junit;

/** A test at its place in an order. */
final class Wanted {
    final int at;
    final String key;

    Wanted(int at, String key) {
        this.at = at;
        this.key = key;
    }
}
