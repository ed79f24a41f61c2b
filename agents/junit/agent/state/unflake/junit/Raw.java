package unflake.junit;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * An object of the JDK with the parts that it consists of (the table of a map and its nodes), as they were. What it holds for others
 * stands in fields and arrays of type {@code Object} and is none of its parts. To put it back runs nobody's code.
 */
final class Raw {
    private final Map<Part, Object> parts = new LinkedHashMap<>();

    /** Known by which object it is, not by what that equals. */
    private static final class Part {
        final Object it;

        Part(Object it) {
            this.it = it;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Part && ((Part) other).it == it;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(it);
        }
    }

    Raw(Object whole) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> queue = new ArrayDeque<>();
        queue.add(whole);
        while (!queue.isEmpty()) {
            Object it = queue.remove();
            if (!seen.add(it)) {
                continue;
            }
            Class<?> type = it.getClass();
            if (type.isArray()) {
                parts.put(new Part(it), copy(it));
                if (isPart(type.getComponentType())) {
                    for (Object one : (Object[]) it) {
                        add(one, queue);
                    }
                }
                continue;
            }
            Field[] fields = Fields.of(type);
            Object[] values = Fields.read(it, fields);
            parts.put(new Part(it), values);
            for (int at = 0; at < fields.length; at++) {
                if (isPart(fields[at].getType())) {
                    add(values[at], queue);
                }
            }
        }
    }

    private static void add(Object one, Deque<Object> queue) {
        if (one == null) {
            return;
        }
        Class<?> type = one.getClass();
        boolean ours = type.isArray() ? type.getComponentType().isPrimitive() || Shapes.isJdk(type.getComponentType())
                : type.getName().startsWith("java.util.");
        if (ours) {
            queue.add(one);
        }
    }

    private static boolean isPart(Class<?> declared) {
        return !declared.isPrimitive() && declared != Object.class && declared != String.class;
    }

    private static Object copy(Object array) {
        int length = Array.getLength(array);
        Object copy = Array.newInstance(array.getClass().getComponentType(), length);
        System.arraycopy(array, 0, copy, 0, length);
        return copy;
    }

    boolean isSame() {
        for (Map.Entry<Part, Object> one : parts.entrySet()) {
            Object it = one.getKey().it;
            if (it.getClass().isArray()) {
                if (!Objects.deepEquals(it, one.getValue())) {
                    return false;
                }
                continue;
            }
            Field[] fields = Fields.of(it.getClass());
            Object[] kept = (Object[]) one.getValue();
            for (int at = 0; at < fields.length; at++) {
                boolean cache = fields[at].getName().equals("toStringCache");
                if (!cache && !Shapes.same(kept[at], Fields.read(it, fields[at]))) {
                    return false;
                }
            }
        }
        return true;
    }

    void putBack() throws IllegalAccessException {
        for (Map.Entry<Part, Object> one : parts.entrySet()) {
            Object it = one.getKey().it;
            if (it.getClass().isArray()) {
                System.arraycopy(one.getValue(), 0, it, 0, Array.getLength(it));
                continue;
            }
            Field[] fields = Fields.of(it.getClass());
            Object[] kept = (Object[]) one.getValue();
            for (int at = 0; at < fields.length; at++) {
                if (!Shapes.same(kept[at], Fields.read(it, fields[at]))) {
                    fields[at].set(it, kept[at]);
                }
            }
        }
    }
}
