package unflake.junit;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.lines.Shown;

/**
 * Everything that static fields lead to: remembered as it is, to be put back object by object. To look at it runs no code of the
 * project and changes nothing.
 */
final class Heap {
    private static final int MOST = 400_000;

    final List<String> unknown = new ArrayList<>();
    private final Map<Object, Kept> kept = new IdentityHashMap<>();
    private final Map<Statics, Kept> roots = new LinkedHashMap<>();

    void remember(Collection<Statics> classes) {
        for (Statics one : classes) {
            Kept values = Kept.statics(one.fields);
            roots.put(one, values);
            remember(values.parts);
        }
    }

    /** These, and whatever they lead to. */
    void remember(Object... values) {
        Deque<Object> queue = new ArrayDeque<>();
        add(values, queue);
        while (!queue.isEmpty()) {
            Object it = queue.remove();
            if (kept.containsKey(it)) {
                continue;
            }
            if (kept.size() >= MOST) {
                note("more than " + MOST + " objects can be reached; the rest was not compared");
                return;
            }
            Kept one = keep(it);
            kept.put(it, one);
            if (one != null) {
                add(one.parts, queue);
            }
        }
    }

    private static void add(Object[] values, Deque<Object> queue) {
        for (Object value : values) {
            if (value != null && !Shapes.isValue(value) || value instanceof Enum) {
                queue.add(value);
            }
        }
    }

    /** Another thread may be at work on it. */
    private Kept keep(Object it) {
        try {
            return Kept.of(it);
        } catch (RuntimeException busy) {
            note("a " + Shown.nameOf(it.getClass()) + " could not be looked at: " + busy);
            return null;
        }
    }

    private void note(String text) {
        if (!unknown.contains(text) && unknown.size() < 20) {
            unknown.add(text);
        }
    }

    int size() {
        return kept.size();
    }

    Kept of(Object it) {
        return kept.get(it);
    }

    /** What a value was when it was remembered, in words. */
    String textOf(Object was) {
        Kept one = kept.get(was);
        if (one == null || one.text != null) {
            return one == null ? Shown.of(was, 1) : one.text;
        }
        // Made when it is wanted: most never is.
        return one.shape == Shapes.OBJECT ? Shown.of(was, 0) : Shown.of(one.parts, one.shape == Shapes.MAP, this::wordOf);
    }

    private String wordOf(Object part) {
        Kept one = kept.get(part);
        return one == null || one.text == null ? Shown.of(part, 0) : one.text;
    }

    Map<Statics, Kept> roots() {
        return roots;
    }

    /** Makes everything that a remembered object leads to what it was. */
    void settle(Object from) throws Exception {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> queue = new ArrayDeque<>();
        add(new Object[] {from}, queue);
        while (!queue.isEmpty()) {
            Object it = queue.remove();
            Kept one = kept.get(it);
            if (one == null || !seen.add(it)) {
                continue;
            }
            if (one.raw != null) {
                if (!one.raw.isSame()) {
                    one.raw.putBack();
                }
            } else if (it instanceof Object[]) {
                System.arraycopy(one.parts, 0, it, 0, one.parts.length);
            } else {
                put(it, Fields.of(it.getClass()), one.parts);
            }
            add(one.parts, queue);
        }
    }

    private static void put(Object it, Field[] fields, Object[] values) throws IllegalAccessException {
        for (int at = 0; at < fields.length; at++) {
            if (!Shapes.same(values[at], Fields.read(it, fields[at]))) {
                fields[at].set(it, values[at]);
            }
        }
    }
}
