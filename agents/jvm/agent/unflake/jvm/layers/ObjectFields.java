package unflake.jvm.layers;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.util.ValueFormatter;

/** Values at a program point: a value itself, and the fields of project objects, one level deep. */
final class ObjectFields {
    private static final int MAX_FIELDS = 30;
    private static final int MAX_TEXT = 100;
    private static final Field[] NONE = {};

    private final Map<Class<?>, Field[]> fields = new HashMap<>();

    /** Returns the class whose fields were appended; null if none were. */
    Class<?> append(Object value, List<Object> row) {
        row.add(json(value));
        Field[] known = value == null ? NONE : fields(value.getClass());
        for (Field field : known) {
            try {
                row.add(json(field.get(value)));
            } catch (IllegalAccessException | LinkageError hidden) {
                row.add(null);
            }
        }
        return known.length == 0 ? null : value.getClass();
    }

    /** Names for the values of a row, given the classes that {@link #append} returned. */
    List<String> names(List<String> parameters, List<Class<?>> classes) {
        List<String> names = new ArrayList<>();
        for (int index = 0; index < parameters.size(); index++) {
            names.add(parameters.get(index));
            for (Field field : classes.get(index) == null ? NONE : fields(classes.get(index))) {
                names.add(parameters.get(index) + "." + field.getName());
            }
        }
        return names;
    }

    private Field[] fields(Class<?> type) {
        Field[] known = fields.get(type);
        if (known == null) {
            known = isProjectClass(type) ? readable(type) : NONE;
            fields.put(type, known);
        }
        return known;
    }

    /** Others are inspected by their text and size only. */
    private static boolean isProjectClass(Class<?> type) {
        return type.getClassLoader() != null && LayerRecorder.isProjectClass(type) && !Enum.class.isAssignableFrom(type) && !type.isArray();
    }

    private static Field[] readable(Class<?> type) {
        List<Field> found = new ArrayList<>();
        try {
            for (Class<?> one = type; one != null && one.getClassLoader() != null; one = one.getSuperclass()) {
                for (Field field : one.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
                        field.setAccessible(true);
                        found.add(field);
                    }
                }
            }
        } catch (LinkageError | RuntimeException incomplete) {
            return NONE;
        }
        return found.size() <= MAX_FIELDS ? found.toArray(NONE) : NONE;
    }

    /** Runs no code of the project. */
    private static Object json(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte
                || value instanceof Double || value instanceof Float || value instanceof Character || value instanceof Enum) {
            return RecordedValue.of(value);
        }
        JsonObject described = new JsonObject().put("type", ValueFormatter.nameOf(value.getClass()));
        if (value instanceof String) {
            String text = (String) value;
            return text.length() <= MAX_TEXT ? text : described.put("size", text.length());
        }
        if (value.getClass().isArray()) {
            return described.put("size", Array.getLength(value));
        }
        if (ValueFormatter.isKnownContainer(value)) {
            return described.put("size", value instanceof Map ? ((Map<?, ?>) value).size() : ((Collection<?>) value).size());
        }
        String text = ValueFormatter.format(value, 0);
        return text.startsWith("<") || text.length() > MAX_TEXT ? described : described.put("text", text);
    }
}
