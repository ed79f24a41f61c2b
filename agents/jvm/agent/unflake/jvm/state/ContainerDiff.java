package unflake.jvm.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.jvm.util.ValueFormatter;

/** Compares what collections and arrays contain with what they contained. */
final class ContainerDiff {
    private final HeapDiff diff;

    ContainerDiff(HeapDiff diff) {
        this.diff = diff;
    }

    /** Writes an element. */
    interface ElementWriter {
        void put(int index, Object old) throws Exception;
    }

    void elements(AccessPath path, Object[] after, ObjectSnapshot snapshot, ElementWriter writer) {
        for (int index = 0; index < after.length; index++) {
            int position = index;
            Object before = snapshot.parts[index];
            diff.compareSlot(path, "[" + index + "]", "element", before, after[index], null, () -> writer.put(position, before));
        }
    }

    void list(AccessPath path, ObjectSnapshot snapshot) {
        List<Object> list = asList(path.target);
        Object[] after = ObjectSnapshot.contents(list);
        if (after.length == snapshot.parts.length) {
            elements(path, after, snapshot, list::set);
        } else {
            replaced(path, snapshot, "list", after);
        }
    }

    void queue(AccessPath path, ObjectSnapshot snapshot) {
        Object[] after = ObjectSnapshot.contents(path.target);
        boolean same = after.length == snapshot.parts.length;
        for (int index = 0; same && index < after.length; index++) {
            same = ObjectShape.same(after[index], snapshot.parts[index]);
        }
        if (same) {
            descendInto(path, after);
        } else {
            replaced(path, snapshot, "bag", after);
        }
    }

    void map(AccessPath path, ObjectSnapshot snapshot) {
        Map<Object, Object> map = asMap(path.target);
        Object[] after = ObjectSnapshot.contents(map);
        if (!areNameable(snapshot.parts, 2) || !areNameable(after, 2)) {
            if (haveSameElements(snapshot.parts, after)) {
                for (int index = 0; index < after.length; index += 2) {
                    diff.descend(after[index + 1], path, "[" + ObjectShape.key(after[index]) + "]");
                    diff.descend(after[index], path, "{" + ObjectShape.key(after[index]) + "}");
                }
            } else {
                replaced(path, snapshot, "map", after);
            }
            return;
        }
        Map<Object, Object> before = entries(snapshot.parts);
        Map<Object, Object> current = entries(after);
        Set<Object> keys = new LinkedHashSet<>(before.keySet());
        keys.addAll(current.keySet());
        for (Object key : keys) {
            String segment = "[" + ObjectShape.key(key) + "]";
            Object old = before.get(key);
            if (before.containsKey(key) && current.containsKey(key)) {
                diff.compareSlot(path, segment, "entry", old, current.get(key), null, () -> map.put(key, old));
            } else if (before.containsKey(key)) {
                StateCell.Undo undo = diff.restoring(() -> map.put(key, old), old);
                diff.cells.add(new StateCell(path.text() + segment, "entry", diff.textOf(old), null, null, undo));
            } else {
                String text = ValueFormatter.format(current.get(key), 1);
                diff.cells.add(new StateCell(path.text() + segment, "entry", null, text, null, () -> map.remove(key)));
            }
        }
    }

    void set(AccessPath path, ObjectSnapshot snapshot) {
        Collection<Object> set = asCollection(path.target);
        Object[] after = ObjectSnapshot.contents(set);
        if (!areNameable(snapshot.parts, 1) || !areNameable(after, 1)) {
            if (haveSameElements(snapshot.parts, after)) {
                descendInto(path, after);
            } else {
                replaced(path, snapshot, "set", after);
            }
            return;
        }
        Set<Object> before = new LinkedHashSet<>(Arrays.asList(snapshot.parts));
        Set<Object> current = new LinkedHashSet<>(Arrays.asList(after));
        for (Object element : before) {
            if (!current.contains(element)) {
                String elementPath = path.text() + "{" + ObjectShape.key(element) + "}";
                diff.cells.add(new StateCell(elementPath, "element", ValueFormatter.format(element, 0), null, null, () -> set.add(element)));
            }
        }
        for (Object element : current) {
            if (!before.contains(element)) {
                String elementPath = path.text() + "{" + ObjectShape.key(element) + "}";
                diff.cells.add(new StateCell(elementPath, "element", null, ValueFormatter.format(element, 0), null, () -> set.remove(element)));
            }
        }
    }

    private void descendInto(AccessPath path, Object[] after) {
        for (Object element : after) {
            if (element != null) {
                diff.descend(element, path, "{" + ObjectShape.key(element) + "}");
            }
        }
    }

    /** The size differs, or elements that cannot be named are different ones. */
    private void replaced(AccessPath path, ObjectSnapshot snapshot, String kind, Object[] after) {
        String before = diff.textOf(path.target);
        String text = text(after, snapshot);
        if (StateCell.bounded(before).equals(StateCell.bounded(text)) || before.contains("…") || text.contains("…")) {
            before = differing(snapshot.parts, after, snapshot);
            text = differing(after, snapshot.parts, snapshot);
        }
        diff.cells.add(new StateCell(path.text(), kind, before, text, null, diff.restoring(snapshot.internals::restore, path.target)));
        Set<Object> old = Collections.newSetFromMap(new IdentityHashMap<>());
        Collections.addAll(old, snapshot.parts);
        List<Object> remaining = new ArrayList<>(Arrays.asList(after));
        remaining.removeIf(element -> !old.contains(element));
        descendInto(path, remaining.toArray());
    }

    private static String text(Object[] contents, ObjectSnapshot snapshot) {
        return ValueFormatter.format(contents, snapshot.shape == ObjectShape.MAP, element -> ValueFormatter.format(element, 0));
    }

    /** How many elements there are, and those that others do not have; where the order counts, with their position. */
    private static String differing(Object[] contents, Object[] others, ObjectSnapshot snapshot) {
        int stride = snapshot.shape == ObjectShape.MAP ? 2 : 1;
        boolean isOrdered = snapshot.shape == ObjectShape.LIST || snapshot.shape == ObjectShape.QUEUE;
        Object[] own;
        String position = "";
        if (isOrdered) {
            int shorter = Math.min(contents.length, others.length);
            int start = 0;
            while (start < shorter && ObjectShape.same(contents[start], others[start])) {
                start++;
            }
            int end = 0;
            while (end < shorter - start && ObjectShape.same(contents[contents.length - 1 - end], others[others.length - 1 - end])) {
                end++;
            }
            own = Arrays.copyOfRange(contents, start, contents.length - end);
            position = "from [" + start + "] on ";
        } else {
            List<Object> rest = new ArrayList<>();
            Set<Object> known = Collections.newSetFromMap(new IdentityHashMap<>());
            Collections.addAll(known, others);
            for (int index = 0; index < contents.length; index += stride) {
                if (!known.contains(contents[index])) {
                    rest.addAll(Arrays.asList(contents).subList(index, index + stride));
                }
            }
            own = rest.toArray();
        }
        String items = contents.length / stride + " items";
        return own.length == 0 ? items : items + ", " + position + text(own, snapshot);
    }

    private static boolean areNameable(Object[] contents, int stride) {
        for (int index = 0; index < contents.length; index += stride) {
            if (contents[index] == null || !ObjectShape.isSimple(contents[index])) {
                return false;
            }
        }
        return true;
    }

    /** Whether both have the same elements, in any order. */
    private static boolean haveSameElements(Object[] before, Object[] after) {
        Set<Object> old = Collections.newSetFromMap(new IdentityHashMap<>());
        Collections.addAll(old, before);
        return before.length == after.length && Arrays.stream(after).allMatch(old::contains);
    }

    private static Map<Object, Object> entries(Object[] contents) {
        Map<Object, Object> entries = new LinkedHashMap<>();
        for (int index = 0; index < contents.length; index += 2) {
            entries.put(contents[index], contents[index + 1]);
        }
        return entries;
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, Object> asMap(Object container) {
        return (Map<Object, Object>) container;
    }

    @SuppressWarnings("unchecked")
    private static Collection<Object> asCollection(Object container) {
        return (Collection<Object>) container;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> asList(Object container) {
        return (List<Object>) container;
    }
}
