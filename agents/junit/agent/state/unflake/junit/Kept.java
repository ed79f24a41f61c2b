package unflake.junit;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import unflake.lines.Shown;

/** One object as it was: what its fields led to, or what it held. */
final class Kept {
    final Shapes shape;
    final Object[] parts;
    /** Of what is put back as a whole. */
    final Raw raw;
    /** What it was, in words, where its parts do not say. */
    final String text;

    private Kept(Shapes shape, Object[] parts, Raw raw, String text) {
        this.shape = shape;
        this.parts = parts;
        this.raw = raw;
        this.text = text;
    }

    /** Null: there is nothing in it to be looked at. */
    static Kept of(Object it) {
        Shapes shape = Shapes.of(it);
        switch (shape) {
            case VALUE:
            case OPAQUE:
                return null;
            case PLAIN:
                return new Kept(shape, new Object[0], new Raw(it), Shown.of(it, 0));
            case MAP:
            case SET:
            case LIST:
            case BAG:
                return new Kept(shape, contents(it), new Raw(it), null);
            case ARRAY:
                return it instanceof Object[] ? new Kept(shape, ((Object[]) it).clone(), null, null)
                        : new Kept(shape, new Object[0], new Raw(it), Shown.of(it, 1));
            default:
                return new Kept(shape, Fields.read(it, Fields.of(it.getClass())), null, null);
        }
    }

    static Kept statics(Field[] fields) {
        return new Kept(Shapes.OBJECT, Fields.read(null, fields), null, null);
    }

    /** What a collection of the JDK holds; of a map, each key with its value behind it. */
    static Object[] contents(Object it) {
        if (it instanceof Map) {
            List<Object> found = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) it).entrySet()) {
                found.add(entry.getKey());
                found.add(entry.getValue());
            }
            return found.toArray();
        }
        return ((Collection<?>) it).toArray(new Object[0]);
    }
}
