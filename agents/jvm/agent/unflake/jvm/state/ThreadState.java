package unflake.jvm.state;

import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.jvm.util.ValueFormatter;

/** Threads that outlive their tests, and thread locals of the thread that runs tests. */
final class ThreadState {
    private final Set<Thread> alive = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Map<ThreadLocal<?>, Object> locals = new IdentityHashMap<>();
    final List<String> unknown = new ArrayList<>();

    void remember(HeapSnapshot heap) {
        alive.addAll(liveThreads());
        locals.putAll(locals());
        heap.remember(locals.values().toArray());
    }

    List<StateCell> changes(HeapDiff heap) {
        List<StateCell> cells = new ArrayList<>();
        for (Thread thread : liveThreads()) {
            if (!alive.contains(thread)) {
                cells.add(new StateCell("thread " + ObjectShape.key(thread.getName()), "thread", null, describe(thread),
                        "a started thread cannot be undone", null));
            }
        }
        Map<ThreadLocal<?>, Object> current = locals();
        Map<ThreadLocal<?>, Object> union = new LinkedHashMap<>();
        union.putAll(locals);
        union.putAll(current);
        for (ThreadLocal<?> local : union.keySet()) {
            Object before = locals.get(local);
            Object after = current.get(local);
            Object value = union.get(local);
            if (!heap.threadLocalPaths.containsKey(local) && value != null && ObjectShape.isJdk(value.getClass()) && ObjectShape.of(value) == ObjectShape.OPAQUE) {
                // A thread local of the JDK itself.
                continue;
            }
            String path = name(local, value, heap);
            if (before != null && before == after) {
                heap.compare(after, path);
            } else if (!ObjectShape.same(before, after)) {
                cells.add(new StateCell(path, "thread local", before == null ? null : heap.textOf(before), after == null ? null : ValueFormatter.format(after, 1), null,
                        () -> restore(local, before)));
            }
        }
        return cells;
    }

    @SuppressWarnings("unchecked")
    private static void restore(ThreadLocal<?> local, Object value) {
        if (value == null) {
            local.remove();
        } else {
            ((ThreadLocal<Object>) local).set(value);
        }
    }

    /** By the field that refers to it, or else by the type of its value. */
    private static String name(ThreadLocal<?> local, Object value, HeapDiff heap) {
        String known = heap.threadLocalPaths.get(local);
        return known != null ? known + ".get()" : "a thread local with " + (value == null ? "null" : ValueFormatter.nameOf(value.getClass()));
    }

    private static List<Thread> liveThreads() {
        List<Thread> result = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            boolean isSystem = thread.getThreadGroup() != null && "system".equals(thread.getThreadGroup().getName());
            if (thread.isAlive() && !isSystem && !thread.getName().startsWith("process reaper")) {
                result.add(thread);
            }
        }
        result.sort(java.util.Comparator.comparing(Thread::getName));
        return result;
    }

    private static String describe(Thread thread) {
        StringBuilder text = new StringBuilder(thread.isDaemon() ? "alive, a daemon" : "alive");
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (!frame.getClassName().startsWith("java.") && !frame.getClassName().startsWith("jdk.")) {
                return text.append(", at ").append(frame.getClassName()).append('.').append(frame.getMethodName()).append(':')
                        .append(frame.getLineNumber()).toString();
            }
        }
        return text.toString();
    }

    /** The thread locals of the current thread, which is the one that runs tests. */
    private Map<ThreadLocal<?>, Object> locals() {
        Map<ThreadLocal<?>, Object> result = new LinkedHashMap<>();
        for (String name : new String[] {"threadLocals", "inheritableThreadLocals"}) {
            try {
                Object map = field(Thread.class, name).get(Thread.currentThread());
                if (map == null) {
                    continue;
                }
                Field value = null;
                for (Object entry : (Object[]) field(map.getClass(), "table").get(map)) {
                    Object local = entry == null ? null : ((Reference<?>) entry).get();
                    if (local != null) {
                        value = value == null ? field(entry.getClass(), "value") : value;
                        add((ThreadLocal<?>) local, value.get(entry), result);
                    }
                }
            } catch (ReflectiveOperationException | RuntimeException inaccessible) {
                unknown.add("thread locals could not be read: " + inaccessible);
            }
        }
        return result;
    }

    private static void add(ThreadLocal<?> local, Object value, Map<ThreadLocal<?>, Object> result) {
        boolean isRunners = ObjectShape.isRunnerClass(local.getClass().getName())
                || value != null && ObjectShape.isRunnerClass(value.getClass().getName());
        if (!isRunners) {
            result.put(local, value);
        }
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
