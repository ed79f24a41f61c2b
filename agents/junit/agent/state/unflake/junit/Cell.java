package unflake.junit;

/** A piece of state that is not what it was. */
final class Cell {
    private static final int LONGEST = 200;

    /** Puts it back. */
    interface Undo {
        void run() throws Exception;
    }

    final String path;
    final String kind;
    final String before;
    final String after;
    /** Why it cannot be put back; null if it can. */
    final String fixed;
    final Undo undo;

    Cell(String path, String kind, String before, String after, String fixed, Undo undo) {
        this.path = path;
        this.kind = kind;
        this.before = before;
        this.after = after;
        this.fixed = fixed;
        this.undo = undo;
    }

    Cell named(String other) {
        return new Cell(other, kind, before, after, fixed, undo);
    }

    Message told() {
        return new Message().put("path", path).put("kind", kind).put("before", bounded(before)).put("after", bounded(after))
                .put("fixed", fixed);
    }

    private static String bounded(String text) {
        return text == null || text.length() <= LONGEST ? text : text.substring(0, LONGEST - 1) + "…";
    }
}
