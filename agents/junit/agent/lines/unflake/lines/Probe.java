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

    public static void hit(int place) {
        (Thread.currentThread() == TESTS ? FIRST : STRANDS.get()).hit(place);
    }
}
