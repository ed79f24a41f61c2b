package unflake.lines;

/** The places of one class: what their numbers mean, what is reached for there, and what is not known. */
final class Places {
    final Part part;
    private final String type;
    private final String file;
    final StringBuilder table = new StringBuilder();
    final StringBuilder reaches = new StringBuilder();
    private int last;

    /** {@code type}: its name with slashes. */
    Places(Part part, String type, String file) {
        this.part = part;
        this.type = type.substring(type.lastIndexOf('/') + 1).replace('$', '.');
        this.file = Part.escaped(file);
    }

    int add(String method, int line) {
        last = part.number();
        table.append(last).append('\t').append(file).append('\t').append(line).append('\t');
        table.append(Part.escaped(type + "." + readable(method))).append('\n');
        return last;
    }

    /** At the place that was added last. */
    void reach(String cause, String owner, String method) {
        String what = owner.substring(owner.lastIndexOf('/') + 1).replace('$', '.');
        what = method.equals("<init>") ? "new " + what : what + "." + method;
        reaches.append(last).append('\t').append(cause).append('\t').append(Part.escaped(what)).append('\n');
    }

    void unknown(String method, String why) {
        table.append("note\t").append(Part.escaped(type + "." + readable(method) + " is not traced: " + why)).append('\n');
    }

    /** The body of a lambda belongs to the method that it stands in. */
    private static String readable(String method) {
        int end = method.lastIndexOf('$');
        return method.startsWith("lambda$") && end > 7 ? method.substring(7, end) : method;
    }
}
