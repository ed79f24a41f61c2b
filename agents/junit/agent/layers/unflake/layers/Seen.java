package unflake.layers;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/** What assertions of libraries call when they begin, when they have held, and when they throw something. */
public final class Seen {
    /** An assertion that has begun and is not over yet. */
    private static final class Open {
        final String what;
        /** How deep the stack was, and the method on it. */
        final int depth;
        final StackTraceElement method;
        /** How deep the code of the project is that asks; 0: there is none. */
        final int asking;
        final Sheet sheet;
        final Place place;
        final List<Object> saw;

        Open(String what, StackTraceElement[] stack, int asking, Sheet sheet, Place place, List<Object> saw) {
            this.what = what;
            depth = stack.length;
            method = stack[1];
            this.asking = asking;
            this.sheet = sheet;
            this.place = place;
            this.saw = saw;
        }

        /** Whether it was left by an exception: it does not stand on this stack any more. */
        boolean isOver(StackTraceElement[] stack) {
            StackTraceElement there = depth < stack.length ? stack[stack.length - depth + 1] : null;
            return there == null || !there.getMethodName().equals(method.getMethodName()) || !there.getClassName().equals(method.getClassName());
        }
    }

    /** Before the name of an assertion that is never let fail. */
    static final String NEVER = "-";

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
                while (!open.isEmpty() && last(open).isOver(stack)) {
                    tell(open, "failed");
                }
                Sources sources = Layers.sources();
                int caller = sources.caller(stack);
                Place place = caller < 0 ? null : sources.place(stack[caller], called(stack, caller));
                String[] names = what.substring(what.indexOf(':') + 1).split(",", -1);
                open.add(new Open(what, stack, caller < 0 ? 0 : stack.length - caller, sheet, place, saw(given, names)));
            }
        } catch (RuntimeException | LinkageError problem) {
            // Nobody is to notice that it was looked at.
        }
    }

    /** What the project has called, if that is this very assertion and not one that a library asks on its way. */
    private static String called(StackTraceElement[] stack, int caller) {
        String outermost = stack[caller - 1].getMethodName();
        return outermost.equals(stack[1].getMethodName()) ? outermost : "";
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

    /** It is left by this exception. Comes back only where that is not to count. */
    public static void failed(Throwable thrown, String what) throws Throwable {
        if (counts(thrown, what, new Throwable().getStackTrace())) {
            throw thrown;
        }
    }

    private static boolean counts(Throwable thrown, String what, StackTraceElement[] stack) {
        try {
            List<Open> open = OPEN.get();
            close(open, stack.length);
            if (open.isEmpty() || last(open).depth != stack.length || !last(open).what.equals(what)) {
                return true;
            }
            Filter filter = Layers.filter();
            boolean isOwn = filter.isOwn(thrown, stack);
            boolean mayFail = isOwn && !isInner(open) && mayFail(last(open), filter, thrown, stack);
            tell(open, mayFail ? "filtered" : isOwn ? "failed" : "raised");
            return !mayFail;
        } catch (RuntimeException | LinkageError | StackOverflowError problem) {
            return true;
        }
    }

    private static boolean mayFail(Open one, Filter filter, Throwable thrown, StackTraceElement[] stack) {
        if (!filter.lists(one.place)) {
            return false;
        }
        // Behind us and the assertion itself.
        String why = filter.why(thrown, stack, 2);
        if (why != null) {
            one.sheet.gap("assertion", one.place + " is not let fail: " + why);
        }
        return why == null;
    }

    /** The test is over: what has not held has failed. */
    static void end() {
        close(OPEN.get(), 0);
    }

    /** Those are over that stood deeper in the stack than this. */
    private static void close(List<Open> open, int depth) {
        while (!open.isEmpty() && last(open).depth > depth) {
            tell(open, "failed");
        }
    }

    private static Open last(List<Open> open) {
        return open.get(open.size() - 1);
    }

    /** Whether the last of them was asked by a library on behalf of another, or by nobody of the project. */
    private static boolean isInner(List<Open> open) {
        Open last = last(open);
        boolean isInner = last.asking == 0;
        for (Open outer : open) {
            isInner |= outer != last && outer.asking == last.asking;
        }
        return isInner;
    }

    private static void tell(List<Open> open, String how) {
        boolean isInner = isInner(open);
        Open last = open.remove(open.size() - 1);
        if (isInner) {
            return;
        }
        if (last.place.site < 0 && Layers.filter() != null) {
            last.sheet.gap("assertion", last.place + " is not told: there is more than one assertion that it could be, or none that is known");
        } else {
            // One that is never let fail is not to be learned as one that varies.
            boolean isNever = last.what.startsWith(NEVER) && how.equals("failed");
            last.sheet.asserted(last.place, isNever ? "raised" : how, last.saw);
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
