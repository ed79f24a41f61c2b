package unflake.jvm.state;

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
 * The internal structure of a JDK object, such as the table and nodes of a map, as it was. Elements
 * are stored in fields and arrays of type {@code Object} and do not belong to the structure.
 * Restoring runs no project code.
 */
final class InternalsSnapshot {
    private final Map<Identity, Object> structure = new LinkedHashMap<>();

    /** An object compared by identity. */
    private static final class Identity {
        final Object target;

        Identity(Object target) {
            this.target = target;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Identity && ((Identity) other).target == target;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(target);
        }
    }

    InternalsSnapshot(Object root) {
        Set<Object> visited = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> queue = new ArrayDeque<>();
        queue.add(root);
        while (!queue.isEmpty()) {
            Object target = queue.remove();
            if (!visited.add(target)) {
                continue;
            }
            Class<?> type = target.getClass();
            if (type.isArray()) {
                structure.put(new Identity(target), copyOf(target));
                if (isStructural(type.getComponentType())) {
                    for (Object part : (Object[]) target) {
                        add(part, queue);
                    }
                }
                continue;
            }
            Field[] fields = FieldAccess.instanceFields(type);
            Object[] values = FieldAccess.read(target, fields);
            structure.put(new Identity(target), values);
            for (int index = 0; index < fields.length; index++) {
                if (isStructural(fields[index].getType())) {
                    add(values[index], queue);
                }
            }
        }
    }

    private static void add(Object part, Deque<Object> queue) {
        if (part == null) {
            return;
        }
        Class<?> type = part.getClass();
        boolean isInternal = type.isArray() ? type.getComponentType().isPrimitive() || ObjectShape.isJdk(type.getComponentType())
                : type.getName().startsWith("java.util.");
        if (isInternal) {
            queue.add(part);
        }
    }

    private static boolean isStructural(Class<?> declared) {
        return !declared.isPrimitive() && declared != Object.class && declared != String.class;
    }

    private static Object copyOf(Object array) {
        int length = Array.getLength(array);
        Object copy = Array.newInstance(array.getClass().getComponentType(), length);
        System.arraycopy(array, 0, copy, 0, length);
        return copy;
    }

    boolean isUnchanged() {
        for (Map.Entry<Identity, Object> part : structure.entrySet()) {
            Object target = part.getKey().target;
            if (target.getClass().isArray()) {
                if (!Objects.deepEquals(target, part.getValue())) {
                    return false;
                }
                continue;
            }
            Field[] fields = FieldAccess.instanceFields(target.getClass());
            Object[] values = (Object[]) part.getValue();
            for (int index = 0; index < fields.length; index++) {
                boolean isCache = fields[index].getName().equals("toStringCache");
                if (!isCache && !ObjectShape.same(values[index], FieldAccess.read(target, fields[index]))) {
                    return false;
                }
            }
        }
        return true;
    }

    void restore() throws IllegalAccessException {
        for (Map.Entry<Identity, Object> part : structure.entrySet()) {
            Object target = part.getKey().target;
            if (target.getClass().isArray()) {
                System.arraycopy(part.getValue(), 0, target, 0, Array.getLength(target));
            } else {
                FieldAccess.restore(target, (Object[]) part.getValue());
            }
        }
    }
}
