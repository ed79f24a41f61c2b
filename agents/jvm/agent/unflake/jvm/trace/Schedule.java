package unflake.jvm.trace;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads sleep at lines that a seed chooses, so that their order changes. What a thread does follows
 * from the seed, its ancestry and the lines that it executes. Single threads are never delayed: some
 * thread must have created another and run on. {@code agents/native/schedule.rs} does the same.
 */
final class Schedule {
    /** One in so many executed lines is a change point, where no rate is given. */
    private static final int[] RATES = {2, 4, 10, 30, 100, 400};
    /** Milliseconds. All together are at most LIMIT in one process. */
    private static final int[] DELAYS = {1, 4, 15};
    private static final long LIMIT = 1_000;
    /** With half of the seeds some threads are not delayed at all. */
    private static final int[] THREAD_FACTORS = {0, 0, 1, 2};
    /** One in so many lines is a change point when a thread first executes it. */
    private static final int[] LINE_RATES = {2, 4, 8};
    /** Bits of what threads have executed, by hash. */
    private static final int SEEN_BITS = 1 << 19;

    private final long seed;
    private final int rate;
    private final int delay;
    private final int lineRate;
    private final boolean hasFactors;
    private final long[] seen = new long[SEEN_BITS / 64];
    private final AtomicLong spent = new AtomicLong();
    private volatile boolean isConcurrent;

    private Schedule(long seed, int givenRate) {
        long drawn = mix(seed ^ 0x7363_6865_6475_6c65L);
        this.seed = seed;
        rate = givenRate > 0 ? givenRate : pick(RATES, drawn);
        delay = pick(DELAYS, drawn >>> 16);
        lineRate = givenRate > 0 ? 0 : pick(LINE_RATES, drawn >>> 32);
        hasFactors = (drawn >>> 48 & 1) == 1;
    }

    /** The schedule in the settings of the world; null if there is none. */
    static Schedule of(String under) {
        int end = under == null ? -1 : under.indexOf(";page=");
        for (String word : under == null ? new String[0] : (end < 0 ? under : under.substring(0, end)).split(";")) {
            if (word.startsWith("schedule=")) {
                String[] numbers = word.substring("schedule=".length()).split(",");
                return new Schedule(Long.parseUnsignedLong(numbers[0]), Integer.parseInt(numbers[1]));
            }
        }
        return null;
    }

    /** What the schedule knows of a thread. */
    static final class ScheduledThread {
        private final long identity;
        private final int delay;
        private long random;
        private long remaining;
        /** How many different lines it has executed: numbers of lines differ between processes. */
        private long lines;

        private ScheduledThread(long identity, int delay) {
            this.identity = identity;
            this.delay = delay;
            random = identity;
        }
    }

    /** {@code ancestry}: null if it is not known. */
    ScheduledThread thread(int[] ancestry) {
        long identity = mix(seed);
        for (int step : ancestry == null ? new int[] {-2} : ancestry) {
            identity = mix(identity ^ (step + 1L));
        }
        int factor = hasFactors ? pick(THREAD_FACTORS, mix(identity)) : 1;
        ScheduledThread thread = new ScheduledThread(identity, delay * factor);
        thread.remaining = gap(thread);
        return thread;
    }

    /** A thread with so many children executes a line. */
    void step(ScheduledThread thread, int children, int place) {
        if (children > 0 && !isConcurrent) {
            isConcurrent = true;
        }
        if (isConcurrent && thread.delay > 0 && isChangePoint(thread, place)
                && spent.getAndAdd(thread.delay) < LIMIT) {
            sleep(thread.delay);
        }
    }

    private boolean isChangePoint(ScheduledThread thread, int place) {
        long hash = mix(thread.identity ^ place);
        int bit = (int) (hash >>> 16) & (SEEN_BITS - 1);
        if (lineRate > 0 && (seen[bit / 64] >>> bit & 1) == 0) {
            seen[bit / 64] |= 1L << bit;
            if (Long.remainderUnsigned(mix(thread.identity + ++thread.lines), lineRate) == 0) {
                return true;
            }
        }
        if (--thread.remaining > 0) {
            return false;
        }
        thread.remaining = gap(thread);
        return true;
    }

    /** A random number of lines, {@code rate} on average. */
    private long gap(ScheduledThread thread) {
        thread.random += 0x9e37_79b9_7f4a_7c15L;
        return 1 + Long.remainderUnsigned(mix(thread.random), 2L * rate - 1);
    }

    /** The thread stays interrupted, if it is. */
    static void sleep(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static int pick(int[] list, long by) {
        return list[(int) Long.remainderUnsigned(by, list.length)];
    }

    private static long mix(long value) {
        value = (value ^ (value >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
        value = (value ^ (value >>> 27)) * 0x94d0_49bb_1331_11ebL;
        return value ^ (value >>> 31);
    }
}
