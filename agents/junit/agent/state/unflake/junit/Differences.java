package unflake.junit;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.lines.Shown;

/** What of a heap is not as it was remembered, by the shortest way that leads to it. */
final class Differences {
    final List<Cell> cells = new ArrayList<>();
    /** Where thread locals are held, so that what they hold has a name. */
    final Map<Object, String> names = new IdentityHashMap<>();
    private final Heap heap;
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Step> queue = new ArrayDeque<>();
    private final Contents contents;

    Differences(Heap heap) {
        this.heap = heap;
        contents = new Contents(this);
    }

    void ofStatics() {
        heap.roots().forEach((one, kept) -> {
            Step step = new Step(null, null, one.path);
            fields(step, null, one.fields, kept.parts, "static field", one.names);
            walk();
        });
    }

    /** The same of something that is reached otherwise. */
    void of(Object it, String path) {
        descend(it, null, path);
        walk();
    }

    void descend(Object it, Step above, String segment) {
        if (it instanceof ThreadLocal) {
            names.putIfAbsent(it, new Step(it, above, segment).path());
        }
        if (it != null && heap.of(it) != null && seen.add(it)) {
            queue.add(new Step(it, above, segment));
        }
    }

    private void walk() {
        while (!queue.isEmpty()) {
            Step step = queue.remove();
            try {
                look(step, heap.of(step.it));
            } catch (RuntimeException busy) {
                heap.unknown.add(step.path() + " could not be compared: " + busy);
            }
        }
    }

    private void look(Step step, Kept kept) {
        Object it = step.it;
        switch (kept.shape) {
            case MAP:
                contents.map(step, kept);
                break;
            case SET:
                contents.set(step, kept);
                break;
            case LIST:
                contents.list(step, kept);
                break;
            case BAG:
                contents.bag(step, kept);
                break;
            case OBJECT:
                boolean hidden = Shapes.isJdk(it.getClass());
                Field[] fields = Fields.of(it.getClass());
                String[] names = new String[fields.length];
                for (int at = 0; at < fields.length; at++) {
                    names[at] = hidden ? "" : "." + fields[at].getName();
                }
                fields(step, it, fields, kept.parts, "field", names);
                break;
            case ARRAY:
                if (it instanceof Object[]) {
                    contents.elements(step, (Object[]) it, kept, (at, old) -> ((Object[]) it)[at] = old);
                    break;
                }
                whole(step, kept, "array");
                break;
            default:
                whole(step, kept, "value");
        }
    }

    private void fields(Step step, Object it, Field[] fields, Object[] old, String kind, String[] names) {
        for (int at = 0; at < fields.length; at++) {
            Field field = fields[at];
            Object was = old[at];
            boolean isFinal = Modifier.isFinal(field.getModifiers());
            slot(step, names[at], kind, was, Fields.read(it, field), isFinal ? "it is final" : null, () -> field.set(it, was));
        }
    }

    /** A place that holds a value: the same still, or something else. */
    void slot(Step above, String segment, String kind, Object was, Object now, String fixed, Cell.Undo put) {
        if (was == now) {
            descend(now, above, segment);
        } else if (!Shapes.same(was, now)) {
            String path = above.path() + segment;
            cells.add(new Cell(path, kind, textOf(was), Shown.of(now, 1), fixed, undo(put, was)));
        }
    }

    /** What a value was, in words. */
    String textOf(Object was) {
        return heap.textOf(was);
    }

    /** What is put back leads to what it led to, as that was. */
    Cell.Undo undo(Cell.Undo put, Object was) {
        return () -> {
            put.run();
            heap.settle(was);
        };
    }

    private void whole(Step step, Kept kept, String kind) {
        if (!kept.raw.isSame()) {
            cells.add(new Cell(step.path(), kind, textOf(step.it), Shown.of(step.it, 1), null, kept.raw::putBack));
        }
    }
}
