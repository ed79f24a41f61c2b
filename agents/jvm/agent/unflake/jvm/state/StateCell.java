package unflake.jvm.state;

import unflake.jvm.protocol.JsonObject;

/** One piece of state that differs from its remembered value. */
final class StateCell {
    private static final int MAX_LENGTH = 200;

    /** Restores the remembered value. */
    interface Undo {
        void run() throws Exception;
    }

    final String path;
    final String kind;
    final String before;
    final String after;
    /** Why the cell cannot be restored; null if it can. */
    final String fixed;
    final Undo undo;

    StateCell(String path, String kind, String before, String after, String fixed, Undo undo) {
        this.path = path;
        this.kind = kind;
        this.before = before;
        this.after = after;
        this.fixed = fixed;
        this.undo = undo;
    }

    StateCell withPath(String newPath) {
        return new StateCell(newPath, kind, before, after, fixed, undo);
    }

    JsonObject toJson() {
        return new JsonObject().put("path", path).put("kind", kind).put("before", bounded(before)).put("after", bounded(after))
                .put("fixed", fixed);
    }

    private static String bounded(String text) {
        return text == null || text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH - 1) + "…";
    }
}
