package unflake.lines;

import java.nio.ByteBuffer;

/** How long instructions are, and which of them lead elsewhere. */
final class Instruction {
    static final int LDC_W = 0x13;
    static final int SIPUSH = 0x11;
    static final int TABLE_SWITCH = 0xaa;
    static final int LOOKUP_SWITCH = 0xab;
    static final int INVOKE_STATIC = 0xb8;
    static final int GOTO = 0xa7;
    static final int THROW = 0xbf;
    private static final int WIDE = 0xc4;
    private static final int INCREMENT = 0x84;
    private static final byte[] LENGTHS = new byte[256];

    static {
        put(1, 0x00, 0xc3);
        put(2, 0x10, 0x10, 0x12, 0x12, 0x15, 0x19, 0x36, 0x3a, 0xa9, 0xa9, 0xbc, 0xbc);
        put(3, 0x11, 0x11, 0x13, 0x14, 0x84, 0x84, 0x99, 0xa8, 0xb2, 0xb8, 0xbb, 0xbb, 0xbd, 0xbd, 0xc0, 0xc1, 0xc6, 0xc7);
        put(4, 0xc5, 0xc5);
        put(5, 0xb9, 0xba, 0xc8, 0xc9);
        put(0, TABLE_SWITCH, LOOKUP_SWITCH);
    }

    private Instruction() {
    }

    private static void put(int length, int... ranges) {
        for (int at = 0; at < ranges.length; at += 2) {
            for (int code = ranges[at]; code <= ranges[at + 1]; code++) {
                LENGTHS[code] = (byte) length;
            }
        }
    }

    /** How long the one at this place is; {@code pc} is its place in the method. */
    static int length(ByteBuffer code, int at, int pc) {
        int operation = code.get(at) & 0xff;
        int padded = 1 + padding(pc);
        switch (operation) {
            case TABLE_SWITCH:
                return padded + 12 + 4 * (code.getInt(at + padded + 8) - code.getInt(at + padded + 4) + 1);
            case LOOKUP_SWITCH:
                return padded + 8 + 8 * code.getInt(at + padded + 4);
            case WIDE:
                return (code.get(at + 1) & 0xff) == INCREMENT ? 6 : 4;
            default:
                if (LENGTHS[operation] == 0) {
                    throw new Refused("it has an instruction that is not known here: " + operation);
                }
                return LENGTHS[operation];
        }
    }

    /** What goes before the numbers of a switch, which begin at a multiple of four. */
    static int padding(int pc) {
        return 3 - pc % 4;
    }

    /** Whether it has the way to another as two bytes. */
    static boolean jumps(int operation) {
        return operation >= 0x99 && operation <= 0xa8 || operation == 0xc6 || operation == 0xc7;
    }

    /** … as four. */
    static boolean jumpsFar(int operation) {
        return operation == 0xc8 || operation == 0xc9;
    }
}
