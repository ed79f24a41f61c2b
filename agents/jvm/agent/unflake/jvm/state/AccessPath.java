package unflake.jvm.state;

/** A visited object and the path on which it was reached. */
final class AccessPath {
    final Object target;
    final AccessPath parent;
    final String segment;

    AccessPath(Object target, AccessPath parent, String segment) {
        this.target = target;
        this.parent = parent;
        this.segment = segment;
    }

    String text() {
        return parent == null ? segment : parent.text() + segment;
    }
}
