package unflake.jvm.layers;

import java.util.Arrays;

/**
 * Called by instrumented project classes at each line and before each conditional jump. Only
 * whether something happened matters, so a probe stores one flag.
 */
public final class CodeProbe {
    /** Lines and branches of all classes; a constant, so that compiled probes only store. */
    private static final boolean[] SEEN = new boolean[1 << 20];
    private static final int SWITCHES = 1 << 16;
    /** The keys of each {@code lookupswitch}. */
    private static final int[][] KEYS = new int[SWITCHES][];
    private static int used;
    private static int switches;

    private CodeProbe() {
    }

    /** Returns the first of consecutive numbers; -1 if there are no more. */
    static synchronized int reserve(int count) {
        if (used + count > SEEN.length) {
            return -1;
        }
        used += count;
        return used - count;
    }

    /** Returns the number of a switch with these sorted keys; -1 if there are no more. */
    static synchronized int reserveSwitch(int[] keys) {
        if (switches == SWITCHES) {
            return -1;
        }
        KEYS[switches] = keys;
        return switches++;
    }

    /** Numbers may be used again. */
    static synchronized void forget() {
        used = 0;
        switches = 0;
    }

    static synchronized void clear() {
        Arrays.fill(SEEN, 0, used, false);
    }

    static boolean isSeen(int number) {
        return SEEN[number];
    }

    public static void line(int number) {
        SEEN[number] = true;
    }

    public static void ifeq(int value, int branch) {
        SEEN[value == 0 ? branch : branch + 1] = true;
    }

    public static void ifne(int value, int branch) {
        SEEN[value != 0 ? branch : branch + 1] = true;
    }

    public static void iflt(int value, int branch) {
        SEEN[value < 0 ? branch : branch + 1] = true;
    }

    public static void ifge(int value, int branch) {
        SEEN[value >= 0 ? branch : branch + 1] = true;
    }

    public static void ifgt(int value, int branch) {
        SEEN[value > 0 ? branch : branch + 1] = true;
    }

    public static void ifle(int value, int branch) {
        SEEN[value <= 0 ? branch : branch + 1] = true;
    }

    public static void icmpeq(int one, int other, int branch) {
        SEEN[one == other ? branch : branch + 1] = true;
    }

    public static void icmpne(int one, int other, int branch) {
        SEEN[one != other ? branch : branch + 1] = true;
    }

    public static void icmplt(int one, int other, int branch) {
        SEEN[one < other ? branch : branch + 1] = true;
    }

    public static void icmpge(int one, int other, int branch) {
        SEEN[one >= other ? branch : branch + 1] = true;
    }

    public static void icmpgt(int one, int other, int branch) {
        SEEN[one > other ? branch : branch + 1] = true;
    }

    public static void icmple(int one, int other, int branch) {
        SEEN[one <= other ? branch : branch + 1] = true;
    }

    public static void acmpeq(Object one, Object other, int branch) {
        SEEN[one == other ? branch : branch + 1] = true;
    }

    public static void acmpne(Object one, Object other, int branch) {
        SEEN[one != other ? branch : branch + 1] = true;
    }

    public static void ifnull(Object value, int branch) {
        SEEN[value == null ? branch : branch + 1] = true;
    }

    public static void ifnonnull(Object value, int branch) {
        SEEN[value != null ? branch : branch + 1] = true;
    }

    /** {@code low}: the key of the first of {@code count} branches; the default follows them. */
    public static void table(int key, int low, int count, int branch) {
        long index = (long) key - low;
        SEEN[branch + (index >= 0 && index < count ? (int) index : count)] = true;
    }

    /** The branches are in the order of the keys; the default follows them. */
    public static void lookup(int key, int keys, int branch) {
        int index = Arrays.binarySearch(KEYS[keys], key);
        SEEN[branch + (index >= 0 ? index : KEYS[keys].length)] = true;
    }
}
