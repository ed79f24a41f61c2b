package unflake.lines;

/** What the classes of the project call at each of their lines. */
public final class Probe {
    /** Most lines are come to by the thread that runs the tests, which is the one that begins with this class. */
    private static final Thread TESTS = Thread.currentThread();
    private static final Strand FIRST = new Strand(Lines.part, new int[0], 0);
    private static final ThreadLocal<Strand> STRANDS = new InheritableThreadLocal<Strand>() {
        @Override
        protected Strand initialValue() {
            return new Strand(Lines.part, null, 0);
        }

        /** Asked in the thread that makes another, while it does so. */
        @Override
        protected Strand childValue(Strand parent) {
            return parent.child();
        }
    };

    static {
        STRANDS.set(FIRST);
    }

    private Probe() {
    }

    /** Has everything made that a line needs. */
    static void begin() {
    }

    private static Strand mine() {
        return Thread.currentThread() == TESTS ? FIRST : STRANDS.get();
    }

    public static void hit(int place) {
        mine().hit(place);
    }

    public static void value(boolean value, int name) {
        mine().value(String.valueOf(value), name);
    }

    public static void value(char value, int name) {
        mine().value(Shown.of(value), name);
    }

    public static void value(int value, int name) {
        mine().value(Integer.toString(value), name);
    }

    public static void value(long value, int name) {
        mine().value(Long.toString(value), name);
    }

    public static void value(float value, int name) {
        mine().value(Float.toString(value), name);
    }

    public static void value(double value, int name) {
        mine().value(Double.toString(value), name);
    }

    public static void value(Object value, int name) {
        Strand strand = mine();
        if (strand.wantsMore()) {
            strand.value(Shown.of(value), name);
        }
    }
}
