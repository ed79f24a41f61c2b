package unflake.junit;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The fields of classes, ready to be read. */
final class Fields {
    private static final Field[] NONE = {};
    private static final Map<Class<?>, Field[]> OF_INSTANCES = new HashMap<>();

    private Fields() {
    }

    /** Of an instance, those of its superclasses first. */
    static Field[] of(Class<?> type) {
        Field[] known = OF_INSTANCES.get(type);
        if (known != null) {
            return known;
        }
        List<Field> found = new ArrayList<>();
        if (type.getSuperclass() != null) {
            for (Field inherited : of(type.getSuperclass())) {
                found.add(inherited);
            }
        }
        for (Field field : declared(type)) {
            // What leads outwards from an inner class is reached from there.
            if (!Modifier.isStatic(field.getModifiers()) && opened(field)) {
                found.add(field);
            }
        }
        Field[] fields = found.toArray(NONE);
        OF_INSTANCES.put(type, fields);
        return fields;
    }

    /** Static fields that can come to hold something else, or something that changes. */
    static Field[] statics(Class<?> type) {
        List<Field> found = new ArrayList<>();
        for (Field field : declared(type)) {
            boolean is = Modifier.isStatic(field.getModifiers()) && !field.isSynthetic();
            boolean constant = Modifier.isFinal(field.getModifiers())
                    && (field.getType().isPrimitive() || field.getType() == String.class || field.getType() == Class.class);
            if (is && !constant && opened(field)) {
                found.add(field);
            }
        }
        return found.toArray(NONE);
    }

    private static Field[] declared(Class<?> type) {
        try {
            return type.getDeclaredFields();
        } catch (LinkageError | RuntimeException odd) {
            // A class of which a part is missing.
            return NONE;
        }
    }

    private static boolean opened(Field field) {
        try {
            field.setAccessible(true);
            return true;
        } catch (RuntimeException closed) {
            return false;
        }
    }

    static Object[] read(Object it, Field[] fields) {
        Object[] values = new Object[fields.length];
        for (int at = 0; at < fields.length; at++) {
            values[at] = read(it, fields[at]);
        }
        return values;
    }

    static Object read(Object it, Field field) {
        try {
            return field.get(it);
        } catch (IllegalAccessException | LinkageError closed) {
            return null;
        }
    }
}
