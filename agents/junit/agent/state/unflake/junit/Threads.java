package unflake.junit;

import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.lines.Shown;

/** Threads that live on, and what thread locals hold for the thread that runs tests. */
final class Threads {
    private final Set<Thread> alive = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Map<ThreadLocal<?>, Object> locals = new IdentityHashMap<>();
    final List<String> unknown = new ArrayList<>();

    void remember(Heap heap) {
        alive.addAll(living());
        locals.putAll(locals());
        heap.remember(locals.values().toArray());
    }

    List<Cell> changes(Differences heap) {
        List<Cell> cells = new ArrayList<>();
        for (Thread thread : living()) {
            if (!alive.contains(thread)) {
                cells.add(new Cell("thread " + Shapes.key(thread.getName()), "thread", null, doing(thread),
                        "a thread that was started cannot be taken back", null));
            }
        }
        Map<ThreadLocal<?>, Object> now = locals();
        Map<ThreadLocal<?>, Object> all = new LinkedHashMap<>();
        all.putAll(locals);
        all.putAll(now);
        for (ThreadLocal<?> one : all.keySet()) {
            Object was = locals.get(one);
            Object is = now.get(one);
            Object value = all.get(one);
            if (!heap.names.containsKey(one) && value != null && Shapes.isJdk(value.getClass()) && Shapes.of(value) == Shapes.OPAQUE) {
                // The JDK's own.
                continue;
            }
            String path = name(one, value, heap);
            if (was != null && was == is) {
                heap.of(is, path);
            } else if (!Shapes.same(was, is)) {
                cells.add(new Cell(path, "thread local", was == null ? null : heap.textOf(was), is == null ? null : Shown.of(is, 1), null,
                        () -> put(one, was)));
            }
        }
        return cells;
    }

    @SuppressWarnings("unchecked")
    private static void put(ThreadLocal<?> local, Object value) {
        if (value == null) {
            local.remove();
        } else {
            ((ThreadLocal<Object>) local).set(value);
        }
    }

    /** By the field that holds it, or else by what it holds. */
    private static String name(ThreadLocal<?> local, Object value, Differences heap) {
        String known = heap.names.get(local);
        return known != null ? known + ".get()" : "a thread local with " + (value == null ? "null" : Shown.nameOf(value.getClass()));
    }

    private static List<Thread> living() {
        List<Thread> found = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            boolean ofJvm = thread.getThreadGroup() != null && "system".equals(thread.getThreadGroup().getName());
            if (thread.isAlive() && !ofJvm && !thread.getName().startsWith("process reaper")) {
                found.add(thread);
            }
        }
        found.sort(java.util.Comparator.comparing(Thread::getName));
        return found;
    }

    private static String doing(Thread thread) {
        StringBuilder text = new StringBuilder(thread.isDaemon() ? "alive, a daemon" : "alive");
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (!frame.getClassName().startsWith("java.") && !frame.getClassName().startsWith("jdk.")) {
                return text.append(", at ").append(frame.getClassName()).append('.').append(frame.getMethodName()).append(':')
                        .append(frame.getLineNumber()).toString();
            }
        }
        return text.toString();
    }

    /** The table of the thread that runs tests, which runs this as well. */
    private Map<ThreadLocal<?>, Object> locals() {
        Map<ThreadLocal<?>, Object> found = new LinkedHashMap<>();
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
                        add((ThreadLocal<?>) local, value.get(entry), found);
                    }
                }
            } catch (ReflectiveOperationException | RuntimeException closed) {
                unknown.add("thread locals could not be looked at: " + closed);
            }
        }
        return found;
    }

    private static void add(ThreadLocal<?> local, Object value, Map<ThreadLocal<?>, Object> found) {
        boolean ofRunner = Shapes.isOfRunner(local.getClass().getName())
                || value != null && Shapes.isOfRunner(value.getClass().getName());
        if (!ofRunner) {
            found.put(local, value);
        }
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
