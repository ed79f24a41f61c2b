package unflake.jvm.state;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads fields of classes by reflection. */
final class FieldAccess {
    private static final Field[] NONE = {};
    private static final Map<Class<?>, Field[]> INSTANCE_FIELDS = new HashMap<>();

    private FieldAccess() {
    }

    /** Instance fields, those of superclasses first. */
    static Field[] instanceFields(Class<?> type) {
        Field[] cached = INSTANCE_FIELDS.get(type);
        if (cached != null) {
            return cached;
        }
        List<Field> fields = new ArrayList<>();
        if (type.getSuperclass() != null) {
            Collections.addAll(fields, instanceFields(type.getSuperclass()));
        }
        for (Field field : declaredFields(type)) {
            // The outer instance of an inner class is compared where it is reached otherwise.
            if (!Modifier.isStatic(field.getModifiers()) && makeAccessible(field)) {
                fields.add(field);
            }
        }
        Field[] result = fields.toArray(NONE);
        INSTANCE_FIELDS.put(type, result);
        return result;
    }

    /** Static fields that can be reassigned or that lead to mutable objects. */
    static Field[] staticFields(Class<?> type) {
        List<Field> fields = new ArrayList<>();
        for (Field field : declaredFields(type)) {
            boolean isStatic = Modifier.isStatic(field.getModifiers()) && !field.isSynthetic();
            boolean isConstant = Modifier.isFinal(field.getModifiers())
                    && (field.getType().isPrimitive() || field.getType() == String.class || field.getType() == Class.class);
            if (isStatic && !isConstant && makeAccessible(field)) {
                fields.add(field);
            }
        }
        return fields.toArray(NONE);
    }

    /** All static fields that source code declares, constants too. */
    static List<Field> declaredStatics(Class<?> type) {
        List<Field> fields = new ArrayList<>();
        for (Field field : declaredFields(type)) {
            if (Modifier.isStatic(field.getModifiers()) && !field.isSynthetic() && makeAccessible(field)) {
                fields.add(field);
            }
        }
        return fields;
    }

    private static Field[] declaredFields(Class<?> type) {
        try {
            return type.getDeclaredFields();
        } catch (LinkageError | RuntimeException incomplete) {
            // A class with missing dependencies.
            return NONE;
        }
    }

    private static boolean makeAccessible(Field field) {
        try {
            field.setAccessible(true);
            return true;
        } catch (RuntimeException inaccessible) {
            return false;
        }
    }

    static Object[] read(Object target, Field[] fields) {
        Object[] values = new Object[fields.length];
        for (int index = 0; index < fields.length; index++) {
            values[index] = read(target, fields[index]);
        }
        return values;
    }

    static Object read(Object target, Field field) {
        try {
            return field.get(target);
        } catch (IllegalAccessException | LinkageError inaccessible) {
            return null;
        }
    }

    /** Writes those instance fields whose values differ. */
    static void restore(Object target, Object[] values) throws IllegalAccessException {
        Field[] fields = instanceFields(target.getClass());
        for (int index = 0; index < fields.length; index++) {
            if (!ObjectShape.same(values[index], read(target, fields[index]))) {
                fields[index].set(target, values[index]);
            }
        }
    }
}
