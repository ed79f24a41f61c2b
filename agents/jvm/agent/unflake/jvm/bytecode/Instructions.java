package unflake.jvm.bytecode;

import java.nio.ByteBuffer;

/** Lengths of instructions, and which of them jump. */
public final class Instructions {
    public static final int LDC_W = 0x13;
    public static final int SIPUSH = 0x11;
    public static final int TABLE_SWITCH = 0xaa;
    public static final int LOOKUP_SWITCH = 0xab;
    public static final int INVOKE_STATIC = 0xb8;
    public static final int GOTO = 0xa7;
    public static final int ATHROW = 0xbf;
    static final int JSR = 0xa8;
    static final int RET = 0xa9;
    public static final int WIDE = 0xc4;
    static final int IINC = 0x84;
    private static final int ILOAD = 0x15;
    private static final byte[] LENGTHS = new byte[256];

    static {
        put(1, 0x00, 0xc3);
        put(2, 0x10, 0x10, 0x12, 0x12, 0x15, 0x19, 0x36, 0x3a, 0xa9, 0xa9, 0xbc, 0xbc);
        put(3, 0x11, 0x11, 0x13, 0x14, 0x84, 0x84, 0x99, 0xa8, 0xb2, 0xb8, 0xbb, 0xbb, 0xbd, 0xbd, 0xc0, 0xc1, 0xc6, 0xc7);
        put(4, 0xc5, 0xc5);
        put(5, 0xb9, 0xba, 0xc8, 0xc9);
        put(0, TABLE_SWITCH, LOOKUP_SWITCH);
    }

    private Instructions() {
    }

    private static void put(int length, int... ranges) {
        for (int range = 0; range < ranges.length; range += 2) {
            for (int opcode = ranges[range]; opcode <= ranges[range + 1]; opcode++) {
                LENGTHS[opcode] = (byte) length;
            }
        }
    }

    /** The length of the instruction at this offset; {@code pc} is its position in the method. */
    static int length(ByteBuffer code, int offset, int pc) {
        int opcode = code.get(offset) & 0xff;
        int padded = 1 + padding(pc);
        switch (opcode) {
            case TABLE_SWITCH:
                return padded + 12 + 4 * (code.getInt(offset + padded + 8) - code.getInt(offset + padded + 4) + 1);
            case LOOKUP_SWITCH:
                return padded + 8 + 8 * code.getInt(offset + padded + 4);
            case WIDE:
                return (code.get(offset + 1) & 0xff) == IINC ? 6 : 4;
            default:
                if (LENGTHS[opcode] == 0) {
                    throw new UnsupportedCodeException("it has an unknown instruction: " + opcode);
                }
                return LENGTHS[opcode];
        }
    }

    /** The load instruction for a type: {@code A} for references, otherwise its letter. */
    public static int load(char kind) {
        return ILOAD + Math.max(0, "IJFDA".indexOf(kind));
    }

    public static boolean isCall(int opcode) {
        return opcode >= 0xb6 && opcode <= 0xba;
    }

    public static boolean isReturn(int opcode) {
        return opcode >= 0xac && opcode <= 0xb1;
    }

    /** Padding of a switch, whose operands are aligned to four bytes. */
    static int padding(int pc) {
        return 3 - pc % 4;
    }

    /** Whether the instruction has a branch offset of two bytes. */
    static boolean hasShortBranch(int opcode) {
        return opcode >= 0x99 && opcode <= 0xa8 || opcode == 0xc6 || opcode == 0xc7;
    }

    /** Whether the instruction has a branch offset of four bytes. */
    static boolean hasWideBranch(int opcode) {
        return opcode == 0xc8 || opcode == 0xc9;
    }
}
