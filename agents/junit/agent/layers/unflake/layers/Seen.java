package unflake.layers;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/** What assertions of libraries call when they begin and when they have held. */
public final class Seen {
    /** An assertion that has begun and not yet held. */
    private static final class Open {
        final String what;
        /** How deep the stack was. */
        final int depth;
        final Sheet sheet;
        final Place place;
        final List<Object> saw;

        Open(String what, int depth, Sheet sheet, Place place, List<Object> saw) {
            this.what = what;
            this.depth = depth;
            this.sheet = sheet;
            this.place = place;
            this.saw = saw;
        }
    }

    private static final ThreadLocal<List<Open>> OPEN = ThreadLocal.withInitial(ArrayList::new);

    private Seen() {
    }

    /** {@code what}: a name, a colon, and the names of what it was given, parted by commas. */
    public static void begin(Object[] given, String what) {
        try {
            Sheet sheet = Layers.sheet();
            if (sheet != null) {
                StackTraceElement[] stack = new Throwable().getStackTrace();
                List<Open> open = OPEN.get();
                // What is not below this one any more was left by an exception.
                while (!open.isEmpty() && last(open).depth >= stack.length) {
                    tell(open, "failed");
                }
                Place place = Layers.sources().caller(stack);
                String[] names = what.substring(what.indexOf(':') + 1).split(",", -1);
                open.add(new Open(what, stack.length, sheet, place, saw(given, names)));
            }
        } catch (RuntimeException | LinkageError problem) {
            // Nobody is to notice that it was looked at.
        }
    }

    public static void held(String what) {
        List<Open> open = OPEN.get();
        boolean isThere = false;
        for (Open one : open) {
            isThere |= one.what.equals(what);
        }
        // Those that it has asked on its way, and that have not held, did not keep it from holding.
        while (isThere && !last(open).what.equals(what)) {
            tell(open, "failed");
        }
        if (isThere) {
            tell(open, "held");
        }
    }

    /** The test is over: what has not held has failed. */
    static void end() {
        List<Open> open = OPEN.get();
        while (!open.isEmpty()) {
            tell(open, "failed");
        }
    }

    private static Open last(List<Open> open) {
        return open.get(open.size() - 1);
    }

    /** What libraries ask on behalf of another assertion is at the same place, and only the outermost is told. */
    private static void tell(List<Open> open, String how) {
        Open last = open.remove(open.size() - 1);
        boolean isInner = last.place == null;
        for (Open outer : open) {
            isInner |= last.place != null && last.place.equals(outer.place);
        }
        if (!isInner) {
            last.sheet.asserted(last.place, how, last.saw);
        }
    }

    private static List<Object> saw(Object[] given, String[] names) {
        List<Object> saw = new ArrayList<>();
        for (int at = 0; at < given.length; at++) {
            if (!names[at].isEmpty()) {
                saw.add(names[at]);
                saw.add(Value.of(unwrapped(given[at])));
            }
        }
        return saw;
    }

    /** AssertJ asks an object of its own, which holds what it is about. */
    private static Object unwrapped(Object given) {
        Class<?> type = given == null ? null : given.getClass();
        while (type != null && !type.getName().equals("org.assertj.core.api.AbstractAssert")) {
            type = type.getSuperclass();
        }
        if (type == null) {
            return given;
        }
        try {
            Field actual = type.getDeclaredField("actual");
            actual.setAccessible(true);
            return actual.get(given);
        } catch (ReflectiveOperationException | RuntimeException hidden) {
            return given;
        }
    }
}
