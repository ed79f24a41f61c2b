package unflake.jvm.state;

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
import unflake.jvm.util.ValueFormatter;

/**
 * A snapshot of everything that static fields lead to, from which objects can be restored one by
 * one. Taking it runs no project code and changes nothing.
 */
final class HeapSnapshot {
    private static final int MAX_OBJECTS = 400_000;

    final List<String> unknown = new ArrayList<>();
    private final Map<Object, ObjectSnapshot> objects = new IdentityHashMap<>();
    private final Map<StaticFields, ObjectSnapshot> roots = new LinkedHashMap<>();

    void remember(Collection<StaticFields> classes) {
        for (StaticFields statics : classes) {
            ObjectSnapshot values = ObjectSnapshot.ofStatics(statics.fields);
            roots.put(statics, values);
            remember(values.parts);
        }
    }

    /** Remembers these values and everything they lead to. */
    void remember(Object... values) {
        Deque<Object> queue = new ArrayDeque<>();
        add(values, queue);
        while (!queue.isEmpty()) {
            Object target = queue.remove();
            if (objects.containsKey(target)) {
                continue;
            }
            if (objects.size() >= MAX_OBJECTS) {
                addUnknown("more than " + MAX_OBJECTS + " objects can be reached; the rest was not compared");
                return;
            }
            ObjectSnapshot snapshot = snapshot(target);
            objects.put(target, snapshot);
            if (snapshot != null) {
                add(snapshot.parts, queue);
            }
        }
    }

    private static void add(Object[] values, Deque<Object> queue) {
        for (Object value : values) {
            if (value != null && !ObjectShape.isValue(value) || value instanceof Enum) {
                queue.add(value);
            }
        }
    }

    /** Returns null, and adds a note, if another thread modifies the object at the same time. */
    private ObjectSnapshot snapshot(Object target) {
        try {
            return ObjectSnapshot.of(target);
        } catch (RuntimeException concurrentChange) {
            addUnknown("a " + ValueFormatter.nameOf(target.getClass()) + " could not be read: " + concurrentChange);
            return null;
        }
    }

    private void addUnknown(String text) {
        if (!unknown.contains(text) && unknown.size() < 20) {
            unknown.add(text);
        }
    }

    ObjectSnapshot snapshotOf(Object target) {
        return objects.get(target);
    }

    /** Text of a value as it was remembered. */
    String textOf(Object value) {
        ObjectSnapshot snapshot = objects.get(value);
        if (snapshot == null || snapshot.text != null) {
            return snapshot == null ? ValueFormatter.format(value, 1) : snapshot.text;
        }
        // Computed on demand, because most snapshots are never reported.
        return snapshot.shape == ObjectShape.OBJECT ? ValueFormatter.format(value, 0)
                : ValueFormatter.format(snapshot.parts, snapshot.shape == ObjectShape.MAP, this::shortTextOf);
    }

    private String shortTextOf(Object value) {
        ObjectSnapshot snapshot = objects.get(value);
        return snapshot == null || snapshot.text == null ? ValueFormatter.format(value, 0) : snapshot.text;
    }

    Map<StaticFields, ObjectSnapshot> roots() {
        return roots;
    }

    /** Restores everything that a remembered object led to. */
    void restore(Object root) throws Exception {
        Set<Object> visited = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> queue = new ArrayDeque<>();
        add(new Object[] {root}, queue);
        while (!queue.isEmpty()) {
            Object target = queue.remove();
            ObjectSnapshot snapshot = objects.get(target);
            if (snapshot == null || !visited.add(target)) {
                continue;
            }
            if (snapshot.internals != null) {
                if (!snapshot.internals.isUnchanged()) {
                    snapshot.internals.restore();
                }
            } else if (target instanceof Object[]) {
                System.arraycopy(snapshot.parts, 0, target, 0, snapshot.parts.length);
            } else {
                FieldAccess.restore(target, snapshot.parts);
            }
            add(snapshot.parts, queue);
        }
    }
}
