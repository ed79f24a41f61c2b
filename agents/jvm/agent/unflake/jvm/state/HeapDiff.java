package unflake.jvm.state;

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
import unflake.jvm.util.ValueFormatter;

/** Differences between the heap and a snapshot, each by the shortest path to it. */
final class HeapDiff {
    private static final int MAX_LEVELS = 3;
    private static final int MAX_PARTS = 50;

    final List<StateCell> cells = new ArrayList<>();
    /** Paths of thread locals, to name what they hold. */
    final Map<Object, String> threadLocalPaths = new IdentityHashMap<>();
    private final HeapSnapshot heap;
    private final Set<Object> visited = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<AccessPath> queue = new ArrayDeque<>();
    private final ContainerDiff contents;
    /** How many levels of replaced objects are compared with those that replaced them. */
    private final int levels;

    HeapDiff(HeapSnapshot heap) {
        this(heap, MAX_LEVELS);
    }

    private HeapDiff(HeapSnapshot heap, int levels) {
        this.heap = heap;
        this.levels = levels;
        contents = new ContainerDiff(this);
    }

    void compareStatics() {
        heap.roots().forEach((statics, snapshot) -> {
            AccessPath path = new AccessPath(null, null, statics.path);
            fields(path, null, statics.fields, snapshot.parts, "static field", statics.names);
            drain();
        });
    }

    /** The objects on the way to these cells; nothing has changed yet. */
    List<AccessPath> locate(Set<String> cells) {
        List<AccessPath> located = new ArrayList<>();
        heap.roots().forEach((statics, snapshot) -> {
            if (isOnTheWay(statics.path, cells)) {
                located.add(new AccessPath(statics, null, statics.path));
                fields(new AccessPath(null, null, statics.path), null, statics.fields, snapshot.parts, "static field", statics.names);
                while (!queue.isEmpty()) {
                    AccessPath path = queue.remove();
                    if (isOnTheWay(path.text(), cells)) {
                        located.add(path);
                        compareObject(path, heap.snapshotOf(path.target));
                    }
                }
            }
        });
        return located;
    }

    private static boolean isOnTheWay(String path, Set<String> cells) {
        return cells.stream().anyMatch(cell -> cell.startsWith(path));
    }

    /** Compares an object that is not reached through static fields. */
    void compare(Object target, String path) {
        descend(target, null, path);
        drain();
    }

    void descend(Object target, AccessPath parent, String segment) {
        if (target instanceof ThreadLocal) {
            threadLocalPaths.putIfAbsent(target, new AccessPath(target, parent, segment).text());
        }
        if (target != null && heap.snapshotOf(target) != null && visited.add(target)) {
            queue.add(new AccessPath(target, parent, segment));
        }
    }

    private void drain() {
        while (!queue.isEmpty()) {
            AccessPath path = queue.remove();
            try {
                compareObject(path, heap.snapshotOf(path.target));
            } catch (RuntimeException concurrentChange) {
                heap.unknown.add(path.text() + " could not be compared: " + concurrentChange);
            }
        }
    }

    private void compareObject(AccessPath path, ObjectSnapshot snapshot) {
        Object target = path.target;
        switch (snapshot.shape) {
            case MAP:
                contents.map(path, snapshot);
                break;
            case SET:
                contents.set(path, snapshot);
                break;
            case LIST:
                contents.list(path, snapshot);
                break;
            case QUEUE:
                contents.queue(path, snapshot);
                break;
            case OBJECT:
                boolean isJdk = ObjectShape.isJdk(target.getClass());
                Field[] fields = FieldAccess.instanceFields(target.getClass());
                String[] names = new String[fields.length];
                for (int index = 0; index < fields.length; index++) {
                    names[index] = isJdk ? "" : "." + fields[index].getName();
                }
                fields(path, target, fields, snapshot.parts, "field", names);
                break;
            case ARRAY:
                if (target instanceof Object[]) {
                    contents.elements(path, (Object[]) target, snapshot, (index, remembered) -> ((Object[]) target)[index] = remembered);
                    break;
                }
                compareInternals(path, snapshot, "array");
                break;
            default:
                compareInternals(path, snapshot, "value");
        }
    }

    private void fields(AccessPath path, Object target, Field[] fields, Object[] remembered, String kind, String[] names) {
        for (int index = 0; index < fields.length; index++) {
            Field field = fields[index];
            Object before = remembered[index];
            boolean isFinal = Modifier.isFinal(field.getModifiers());
            compareSlot(path, names[index], kind, before, FieldAccess.read(target, field), isFinal ? "it is final" : null, () -> field.set(target, before));
        }
    }

    /** Compares one reference; descends if it still leads to the same object. */
    void compareSlot(AccessPath parent, String segment, String kind, Object before, Object after, String fixed, StateCell.Undo write) {
        if (before == after) {
            descend(after, parent, segment);
        } else if (!ObjectShape.same(before, after)) {
            AccessPath path = new AccessPath(after, parent, segment);
            StateCell cell = new StateCell(path.text(), kind, textOf(before), ValueFormatter.format(after, 1), fixed, restoring(write, before));
            cell.inside = parts(path, before);
            cells.add(cell);
        }
    }

    /** The parts in which an object differs from the one of its kind that it replaced. */
    private List<StateCell> parts(AccessPath path, Object before) {
        ObjectSnapshot snapshot = before == null || path.target == null ? null : heap.snapshotOf(before);
        if (levels == 0 || snapshot == null || before.getClass() != path.target.getClass() || !snapshot.hasNamedParts()) {
            return Collections.emptyList();
        }
        HeapDiff inner = new HeapDiff(heap, levels - 1);
        try {
            inner.compareObject(path, snapshot);
        } catch (RuntimeException concurrentChange) {
            return Collections.emptyList();
        }
        // What has no parts by name cannot be restored inside of another object.
        inner.cells.removeIf(cell -> cell.path.equals(path.text()));
        return inner.cells.size() > MAX_PARTS ? Collections.emptyList() : inner.cells;
    }

    /** Compares one located object, or the static fields of a class, without what it leads to. */
    static List<StateCell> compareAlone(HeapSnapshot heap, AccessPath path) {
        HeapDiff alone = new HeapDiff(heap);
        if (path.target instanceof StaticFields) {
            StaticFields statics = (StaticFields) path.target;
            AccessPath root = new AccessPath(null, null, statics.path);
            alone.fields(root, null, statics.fields, heap.roots().get(statics).parts, "static field", statics.names);
        } else {
            alone.compareObject(path, heap.snapshotOf(path.target));
        }
        return alone.cells;
    }

    /** Text of a remembered value. */
    String textOf(Object before) {
        return heap.textOf(before);
    }

    /** Also restores everything that the old value led to. */
    StateCell.Undo restoring(StateCell.Undo write, Object before) {
        return () -> {
            write.run();
            heap.restore(before);
        };
    }

    private void compareInternals(AccessPath path, ObjectSnapshot snapshot, String kind) {
        if (!snapshot.internals.isUnchanged()) {
            cells.add(new StateCell(path.text(), kind, textOf(path.target), ValueFormatter.format(path.target, 1), null, snapshot.internals::restore));
        }
    }
}
