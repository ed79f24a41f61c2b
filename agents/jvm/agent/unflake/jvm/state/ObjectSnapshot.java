package unflake.jvm.state;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import unflake.jvm.util.ValueFormatter;

/** One object as it was: the values of its fields, or its elements. */
final class ObjectSnapshot {
    final ObjectShape shape;
    final Object[] parts;
    /** For objects that are restored as a whole. */
    final InternalsSnapshot internals;
    /** Text of the object, where its parts do not provide one. */
    final String text;

    private ObjectSnapshot(ObjectShape shape, Object[] parts, InternalsSnapshot internals, String text) {
        this.shape = shape;
        this.parts = parts;
        this.internals = internals;
        this.text = text;
    }

    /** Returns null for objects that are not inspected. */
    static ObjectSnapshot of(Object target) {
        ObjectShape shape = ObjectShape.of(target);
        switch (shape) {
            case VALUE:
            case OPAQUE:
                return null;
            case PLAIN:
                return new ObjectSnapshot(shape, new Object[0], new InternalsSnapshot(target), ValueFormatter.format(target, 0));
            case MAP:
            case SET:
            case LIST:
            case QUEUE:
                return new ObjectSnapshot(shape, contents(target), new InternalsSnapshot(target), null);
            case ARRAY:
                return target instanceof Object[] ? new ObjectSnapshot(shape, ((Object[]) target).clone(), null, null)
                        : new ObjectSnapshot(shape, new Object[0], new InternalsSnapshot(target), ValueFormatter.format(target, 1));
            default:
                return new ObjectSnapshot(shape, FieldAccess.read(target, FieldAccess.instanceFields(target.getClass())), null, null);
        }
    }

    /** Whether another object of the class can be compared with it part by part. */
    boolean hasNamedParts() {
        return shape == ObjectShape.MAP || shape == ObjectShape.SET || shape == ObjectShape.LIST || shape == ObjectShape.OBJECT;
    }

    static ObjectSnapshot ofStatics(Field[] fields) {
        return new ObjectSnapshot(ObjectShape.OBJECT, FieldAccess.read(null, fields), null, null);
    }

    /** The elements of a JDK collection; for a map, keys and values alternate. */
    static Object[] contents(Object target) {
        if (target instanceof Map) {
            List<Object> contents = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) target).entrySet()) {
                contents.add(entry.getKey());
                contents.add(entry.getValue());
            }
            return contents.toArray();
        }
        return ((Collection<?>) target).toArray(new Object[0]);
    }
}
