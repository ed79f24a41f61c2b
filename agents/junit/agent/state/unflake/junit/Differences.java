package unflake.junit;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What of a heap is not as it was remembered, by the shortest way that leads to it. */
final class Differences {
    final List<Cell> cells = new ArrayList<>();
    /** Where thread locals are held, so that what they hold has a name. */
    final Map<Object, String> names = new IdentityHashMap<>();
    private final Heap heap;
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Step> queue = new ArrayDeque<>();

    /** Where the search has come, and on which way. */
    private static final class Step {
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

    Differences(Heap heap) {
        this.heap = heap;
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

    private void descend(Object it, Step above, String segment) {
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
                map(step, castMap(it), kept);
                break;
            case SET:
                set(step, castCollection(it), kept);
                break;
            case LIST:
                list(step, it, kept);
                break;
            case BAG:
                bag(step, kept, Kept.contents(it));
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
                    elements(step, (Object[]) it, kept, (at, old) -> ((Object[]) it)[at] = old);
                    break;
                }
                whole(step, kept, "array");
                break;
            default:
                whole(step, kept, "value");
        }
    }

    private interface Put {
        void put(int at, Object old) throws Exception;
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
    private void slot(Step above, String segment, String kind, Object was, Object now, String fixed, Cell.Undo put) {
        if (was == now) {
            descend(now, above, segment);
        } else if (!Shapes.same(was, now)) {
            String path = above.path() + segment;
            cells.add(new Cell(path, kind, Texts.of(was), Texts.of(now), fixed, undo(put, was)));
        }
    }

    /** What is put back leads to what it led to, as that was. */
    private Cell.Undo undo(Cell.Undo put, Object was) {
        return () -> {
            put.run();
            heap.settle(was);
        };
    }

    private void elements(Step step, Object[] now, Kept kept, Put put) {
        for (int at = 0; at < now.length; at++) {
            int place = at;
            Object was = kept.parts[at];
            slot(step, "[" + at + "]", "element", was, now[at], null, () -> put.put(place, was));
        }
    }

    private void list(Step step, Object it, Kept kept) {
        Object[] now = Kept.contents(it);
        List<Object> list = castList(it);
        if (now.length == kept.parts.length) {
            elements(step, now, kept, list::set);
        } else {
            replaced(step, kept, "list", now);
        }
    }

    private void bag(Step step, Kept kept, Object[] now) {
        boolean same = now.length == kept.parts.length;
        for (int at = 0; same && at < now.length; at++) {
            same = Shapes.same(now[at], kept.parts[at]);
        }
        if (same) {
            inside(step, now);
        } else {
            replaced(step, kept, kept.shape.name().toLowerCase(java.util.Locale.ROOT), now);
        }
    }

    private void inside(Step step, Object[] now) {
        for (Object one : now) {
            if (one != null) {
                descend(one, step, "{" + Texts.key(one) + "}");
            }
        }
    }

    private void map(Step step, Map<Object, Object> map, Kept kept) {
        Object[] now = Kept.contents(map);
        if (!haveNames(kept.parts, 2) || !haveNames(now, 2)) {
            if (sameOnes(kept.parts, now)) {
                for (int at = 0; at < now.length; at += 2) {
                    descend(now[at + 1], step, "[" + (now[at] == null ? "null" : Texts.key(now[at])) + "]");
                    descend(now[at], step, "{" + (now[at] == null ? "null" : Texts.key(now[at])) + "}");
                }
            } else {
                replaced(step, kept, "map", now);
            }
            return;
        }
        Map<Object, Object> was = pairs(kept.parts);
        Map<Object, Object> is = pairs(now);
        Set<Object> keys = new LinkedHashSet<>(was.keySet());
        keys.addAll(is.keySet());
        for (Object key : keys) {
            String segment = "[" + Texts.key(key) + "]";
            Object old = was.get(key);
            if (was.containsKey(key) && is.containsKey(key)) {
                slot(step, segment, "entry", old, is.get(key), null, () -> map.put(key, old));
            } else if (was.containsKey(key)) {
                Cell.Undo undo = undo(() -> map.put(key, old), old);
                cells.add(new Cell(step.path() + segment, "entry", Texts.of(old), null, null, undo));
            } else {
                String text = Texts.of(is.get(key));
                cells.add(new Cell(step.path() + segment, "entry", null, text, null, () -> map.remove(key)));
            }
        }
    }

    private void set(Step step, Collection<Object> set, Kept kept) {
        Object[] now = set.toArray();
        if (!haveNames(kept.parts, 1) || !haveNames(now, 1)) {
            if (sameOnes(kept.parts, now)) {
                inside(step, now);
            } else {
                replaced(step, kept, "set", now);
            }
            return;
        }
        Set<Object> was = new LinkedHashSet<>(Arrays.asList(kept.parts));
        Set<Object> is = new LinkedHashSet<>(Arrays.asList(now));
        for (Object one : was) {
            if (!is.contains(one)) {
                String path = step.path() + "{" + Texts.key(one) + "}";
                cells.add(new Cell(path, "element", Texts.of(one), null, null, () -> set.add(one)));
            }
        }
        for (Object one : is) {
            if (!was.contains(one)) {
                String path = step.path() + "{" + Texts.key(one) + "}";
                cells.add(new Cell(path, "element", null, Texts.of(one), null, () -> set.remove(one)));
            }
        }
    }

    /** Another number of things is in it, or others that have no names. */
    private void replaced(Step step, Kept kept, String kind, Object[] now) {
        Cell.Undo undo = () -> {
            kept.raw.putBack();
            heap.settle(step.it);
        };
        cells.add(new Cell(step.path(), kind, kept.text, Texts.of(step.it), null, undo));
        Set<Object> old = Collections.newSetFromMap(new IdentityHashMap<>());
        Collections.addAll(old, kept.parts);
        List<Object> left = new ArrayList<>(Arrays.asList(now));
        left.removeIf(one -> !old.contains(one));
        inside(step, left.toArray());
    }

    private void whole(Step step, Kept kept, String kind) {
        if (!kept.raw.isSame()) {
            cells.add(new Cell(step.path(), kind, kept.text, Texts.of(step.it), null, kept.raw::putBack));
        }
    }

    private static boolean haveNames(Object[] contents, int every) {
        for (int at = 0; at < contents.length; at += every) {
            if (contents[at] == null || !Shapes.isSimple(contents[at])) {
                return false;
            }
        }
        return true;
    }

    /** In any order. */
    private static boolean sameOnes(Object[] was, Object[] now) {
        Set<Object> old = Collections.newSetFromMap(new IdentityHashMap<>());
        Collections.addAll(old, was);
        return was.length == now.length && Arrays.stream(now).allMatch(old::contains);
    }

    private static Map<Object, Object> pairs(Object[] contents) {
        Map<Object, Object> pairs = new LinkedHashMap<>();
        for (int at = 0; at < contents.length; at += 2) {
            pairs.put(contents[at], contents[at + 1]);
        }
        return pairs;
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, Object> castMap(Object it) {
        return (Map<Object, Object>) it;
    }

    @SuppressWarnings("unchecked")
    private static Collection<Object> castCollection(Object it) {
        return (Collection<Object>) it;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> castList(Object it) {
        return (List<Object>) it;
    }
}
