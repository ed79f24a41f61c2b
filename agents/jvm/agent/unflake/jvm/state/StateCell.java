package unflake.jvm.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import unflake.jvm.protocol.JsonObject;

/** One piece of state that differs from its remembered value. */
final class StateCell {
    private static final int MAX_LENGTH = 200;
    /** How many differing parts stand for an object. */
    private static final int SHOWN_PARTS = 3;

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
    /** Where an object was replaced by another of its kind: the parts in which they differ. */
    List<StateCell> inside = Collections.emptyList();
    /** Whether the probe restores it before the tests, unless the driver says otherwise. */
    boolean isPreset;
    /** The line that wrote it last; null if unknown. */
    JsonObject written;

    StateCell(String path, String kind, String before, String after, String fixed, Undo undo) {
        this.path = path;
        this.kind = kind;
        this.before = before;
        this.after = after;
        this.fixed = fixed;
        this.undo = undo;
    }

    StateCell withPath(String newPath) {
        StateCell cell = new StateCell(newPath, kind, before, after, fixed, undo);
        cell.inside = inside;
        cell.isPreset = isPreset;
        return cell;
    }

    JsonObject toJson() {
        String[] texts = texts();
        List<JsonObject> parts = new ArrayList<>();
        inside.forEach(part -> parts.add(part.toJson()));
        return new JsonObject().put("path", path).put("kind", kind).put("before", bounded(texts[0])).put("after", bounded(texts[1]))
                .put("fixed", fixed).put("inside", parts).put("preset", isPreset).put("written", written);
    }

    /** Before and after. Texts that look the same are replaced by the parts that differ. */
    private String[] texts() {
        boolean lookAlike = before != null && after != null && bounded(before).equals(bounded(after));
        if (!lookAlike) {
            return new String[] {before, after};
        }
        if (inside.isEmpty()) {
            return new String[] {before, "another " + after};
        }
        StringBuilder was = new StringBuilder();
        StringBuilder is = new StringBuilder();
        for (StateCell part : inside.subList(0, Math.min(SHOWN_PARTS, inside.size()))) {
            String[] texts = part.texts();
            String separator = was.length() == 0 ? "" : ", ";
            String name = part.path.startsWith(path) ? part.path.substring(path.length()) : part.path;
            was.append(separator).append(name).append(": ").append(texts[0] == null ? "absent" : texts[0]);
            is.append(separator).append(name).append(": ").append(texts[1] == null ? "absent" : texts[1]);
        }
        String more = inside.size() > SHOWN_PARTS ? ", and " + (inside.size() - SHOWN_PARTS) + " more" : "";
        return new String[] {was + more, is + more};
    }

    static String bounded(String text) {
        return text == null || text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH - 1) + "…";
    }
}
