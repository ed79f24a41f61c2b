package unflake.jvm.bytecode;

import java.nio.ByteBuffer;

/** The instructions of a method, and their new positions after others are inserted. */
public final class CodeLayout {
    static final int MAX_LENGTH = 65535;

    public final int length;
    private final ByteBuffer in;
    private final int start;
    /**
     * Code inserted before an instruction also runs after a jump to it; code inserted after an
     * instruction runs only when control falls through.
     */
    private final byte[][] before;
    private final byte[][] after;
    private final int[] targets;
    private final int[] positions;

    /** The code that starts at this offset. */
    CodeLayout(ByteBuffer in, int start, int length) {
        this.in = in;
        this.start = start;
        this.length = length;
        before = new byte[length + 1][];
        after = new byte[length + 1][];
        targets = new int[length + 1];
        positions = new int[length + 1];
    }

    public int opcode(int pc) {
        return in.get(start + pc) & 0xff;
    }

    /** Replaces instructions by others of the same length. */
    public void overwrite(int pc, byte... code) {
        for (int index = 0; index < code.length; index++) {
            in.put(start + pc + index, code[index]);
        }
    }

    public int u2(int pc) {
        return in.getShort(start + pc) & 0xffff;
    }

    public int next(int pc) {
        return pc + Instructions.length(in, start + pc, pc);
    }

    /** The local variable that the instruction assigns; -1 if none. */
    public int assignedSlot(int pc) {
        int opcode = opcode(pc);
        if (opcode == Instructions.WIDE) {
            return assignsIndexed(opcode(pc + 1)) ? u2(pc + 2) : -1;
        }
        if (assignsIndexed(opcode)) {
            return opcode(pc + 1);
        }
        return opcode >= 0x3b && opcode <= 0x4e ? (opcode - 0x3b) % 4 : -1;
    }

    private static boolean assignsIndexed(int opcode) {
        return opcode == Instructions.IINC || opcode >= 0x36 && opcode <= 0x3a;
    }

    public void insertBefore(int pc, byte[] code) {
        before[pc] = concatenated(before[pc], code);
    }

    public void insertAfter(int pc, byte[] code) {
        after[pc] = concatenated(after[pc], code);
    }

    private static byte[] concatenated(byte[] first, byte[] second) {
        if (first == null) {
            return second;
        }
        byte[] both = java.util.Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    /** Whether a jump can lead to this position. */
    public boolean isJumpTarget(int position) {
        for (int pc = 0; pc < length; pc = next(pc)) {
            int opcode = opcode(pc);
            boolean leadsThere = Instructions.hasShortBranch(opcode) && pc + in.getShort(start + pc + 1) == position
                || Instructions.hasWideBranch(opcode) && pc + in.getInt(start + pc + 1) == position;
            // Targets of a switch are not computed: one might.
            if (leadsThere || isSwitch(opcode) && pc > position) {
                return true;
            }
        }
        return false;
    }

    /**
     * Positions that the instruction can continue at, first where it jumps to; none if it leaves the
     * method.
     */
    public int[] successors(int pc) {
        int opcode = opcode(pc);
        if (Instructions.isReturn(opcode) || opcode == Instructions.ATHROW) {
            return new int[0];
        }
        if (Instructions.hasShortBranch(opcode)) {
            int target = pc + in.getShort(start + pc + 1);
            return opcode == Instructions.GOTO ? new int[] {target} : new int[] {target, next(pc)};
        }
        if (Instructions.hasWideBranch(opcode)) {
            return new int[] {pc + in.getInt(start + pc + 1)};
        }
        return isSwitch(opcode) ? switchTargets(pc) : new int[] {next(pc)};
    }

    private int[] switchTargets(int pc) {
        int offset = start + pc + 1 + Instructions.padding(pc);
        boolean isTable = opcode(pc) == Instructions.TABLE_SWITCH;
        int count = isTable ? in.getInt(offset + 8) - in.getInt(offset + 4) + 1 : in.getInt(offset + 4);
        int[] targets = new int[1 + count];
        targets[count] = pc + in.getInt(offset);
        for (int index = 0; index < count; index++) {
            // Targets stand alone in a tableswitch and behind their key in a lookupswitch.
            targets[index] = pc + in.getInt(offset + 12 + index * (isTable ? 4 : 8));
        }
        return targets;
    }

    /** The keys of a switch, in the order of its successors; the default has none. */
    public int[] switchKeys(int pc) {
        int offset = start + pc + 1 + Instructions.padding(pc);
        boolean isTable = opcode(pc) == Instructions.TABLE_SWITCH;
        int[] keys = new int[isTable ? in.getInt(offset + 8) - in.getInt(offset + 4) + 1 : in.getInt(offset + 4)];
        for (int index = 0; index < keys.length; index++) {
            keys[index] = isTable ? in.getInt(offset + 4) + index : in.getInt(offset + 8 + 8 * index);
        }
        return keys;
    }

    /** Where a jump to the instruction leads: to the code inserted before it. */
    int newTarget(int pc) {
        return targets[pc];
    }

    /** The new position of the instruction itself. */
    int newPosition(int pc) {
        return positions[pc];
    }

    /** The new code. */
    byte[] assemble() {
        int end = 0;
        for (int pc = 0; pc < length; pc = next(pc)) {
            targets[pc] = end;
            positions[pc] = end + size(before[pc]);
            end = positions[pc] + newLength(pc) + size(after[pc]);
        }
        targets[length] = end;
        positions[length] = end;
        if (end > MAX_LENGTH) {
            throw new UnsupportedCodeException("it would be longer than a method may be");
        }
        ByteBuffer out = ByteBuffer.allocate(end);
        for (int pc = 0; pc < length; pc = next(pc)) {
            append(before[pc], out);
            writeInstruction(pc, out);
            append(after[pc], out);
        }
        return out.array();
    }

    private static int size(byte[] code) {
        return code == null ? 0 : code.length;
    }

    private static void append(byte[] code, ByteBuffer out) {
        if (code != null) {
            out.put(code);
        }
    }

    private static boolean isSwitch(int opcode) {
        return opcode == Instructions.TABLE_SWITCH || opcode == Instructions.LOOKUP_SWITCH;
    }

    private int newLength(int pc) {
        int padded = isSwitch(opcode(pc)) ? Instructions.padding(positions[pc]) - Instructions.padding(pc) : 0;
        return next(pc) - pc + padded;
    }

    private void writeInstruction(int pc, ByteBuffer out) {
        int opcode = opcode(pc);
        if (Instructions.hasShortBranch(opcode)) {
            int distance = newDistance(pc, in.getShort(start + pc + 1));
            if (distance != (short) distance) {
                throw new UnsupportedCodeException("its jumps would be too far");
            }
            out.put((byte) opcode).putShort((short) distance);
        } else if (Instructions.hasWideBranch(opcode)) {
            out.put((byte) opcode).putInt(newDistance(pc, in.getInt(start + pc + 1)));
        } else if (isSwitch(opcode)) {
            writeSwitch(pc, out);
        } else {
            out.put(in.array(), start + pc, next(pc) - pc);
        }
    }

    private int newDistance(int pc, int old) {
        return targets[pc + old] - positions[pc];
    }

    private void writeSwitch(int pc, ByteBuffer out) {
        int opcode = opcode(pc);
        out.put((byte) opcode);
        for (int left = Instructions.padding(positions[pc]); left > 0; left--) {
            out.put((byte) 0);
        }
        int offset = start + pc + 1 + Instructions.padding(pc);
        out.putInt(newDistance(pc, in.getInt(offset)));
        out.putInt(in.getInt(offset + 4));
        boolean isTable = opcode == Instructions.TABLE_SWITCH;
        if (isTable) {
            out.putInt(in.getInt(offset + 8));
        }
        // The remaining targets, each behind its key in a lookupswitch.
        int end = start + next(pc);
        for (offset += isTable ? 12 : 8; offset < end; offset += isTable ? 4 : 8) {
            if (!isTable) {
                out.putInt(in.getInt(offset));
            }
            out.putInt(newDistance(pc, in.getInt(isTable ? offset : offset + 4)));
        }
    }
}
