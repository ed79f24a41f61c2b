package unflake.jvm.trace;

/** The places of one class: file, line and function by id, nondeterministic calls, and gaps. */
final class PlaceTable {
    final ProcessTrace trace;
    private final String type;
    private final String file;
    private final String path;
    final StringBuilder places = new StringBuilder();
    final StringBuilder calls = new StringBuilder();
    private int last;

    /** {@code type}: internal name, with slashes. */
    PlaceTable(ProcessTrace trace, String type, String file) {
        this.trace = trace;
        this.type = type.substring(type.lastIndexOf('/') + 1).replace('$', '.');
        this.file = ProcessTrace.escaped(file);
        path = file;
    }

    int add(String method, int line) {
        last = trace.nextPlaceId();
        places.append(last).append('\t').append(file).append('\t').append(line).append('\t');
        places.append(ProcessTrace.escaped(type + "." + sourceName(method))).append('\n');
        if (TraceProbe.DELAYS != null) {
            TraceProbe.DELAYS.addPlace(last, path, line);
        }
        return last;
    }

    /** Belongs to the place that was added last. */
    void addCall(String cause, String owner, String method) {
        String callee = owner.substring(owner.lastIndexOf('/') + 1).replace('$', '.');
        callee = method.equals("<init>") ? "new " + callee : callee + "." + method;
        calls.append(last).append('\t').append(cause).append('\t').append(ProcessTrace.escaped(callee)).append('\n');
    }

    void addGap(String method, String reason) {
        places.append("note\t").append(ProcessTrace.escaped(type + "." + sourceName(method) + " is not traced: " + reason)).append('\n');
    }

    /** The body of a lambda belongs to the enclosing method. */
    private static String sourceName(String method) {
        int end = method.lastIndexOf('$');
        return method.startsWith("lambda$") && end > 7 ? method.substring(7, end) : method;
    }
}
