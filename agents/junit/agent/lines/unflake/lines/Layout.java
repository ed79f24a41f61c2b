package unflake.lines;

import java.nio.ByteBuffer;

/** Where the instructions of a method come to be when others are put between them. */
final class Layout {
    static final int MOST = 65535;

    final int length;
    private final ByteBuffer in;
    private final int start;
    /** What goes before an instruction, also for who jumps to it; and what goes behind it, for who comes from it. */
    private final byte[][] before;
    private final byte[][] behind;
    private final int[] reached;
    private final int[] itself;

    /** Of the code that begins here. */
    Layout(ByteBuffer in, int start, int length) {
        this.in = in;
        this.start = start;
        this.length = length;
        before = new byte[length + 1][];
        behind = new byte[length + 1][];
        reached = new int[length + 1];
        itself = new int[length + 1];
    }

    int operation(int pc) {
        return in.get(start + pc) & 0xff;
    }

    int u2(int pc) {
        return in.getShort(start + pc) & 0xffff;
    }

    int next(int pc) {
        return pc + Instruction.length(in, start + pc, pc);
    }

    void putBefore(int pc, byte[] code) {
        before[pc] = joined(before[pc], code);
    }

    void putBehind(int pc, byte[] code) {
        behind[pc] = joined(behind[pc], code);
    }

    private static byte[] joined(byte[] one, byte[] two) {
        if (one == null) {
            return two;
        }
        byte[] both = java.util.Arrays.copyOf(one, one.length + two.length);
        System.arraycopy(two, 0, both, one.length, two.length);
        return both;
    }

    /** Whether any jump leads to this place. */
    boolean isReached(int place) {
        for (int pc = 0; pc < length; pc = next(pc)) {
            int operation = operation(pc);
            boolean isThere = Instruction.jumps(operation) && pc + in.getShort(start + pc + 1) == place
                || Instruction.jumpsFar(operation) && pc + in.getInt(start + pc + 1) == place;
            // Where a switch leads is not looked up: it might.
            if (isThere || isSwitch(operation) && pc > place) {
                return true;
            }
        }
        return false;
    }

    /** Where the instruction at this place leads to; nowhere, where it leaves the method. */
    int[] ways(int pc) {
        int operation = operation(pc);
        if (operation >= 0xac && operation <= 0xb1 || operation == Instruction.THROW) {
            return new int[0];
        }
        if (Instruction.jumps(operation)) {
            int there = pc + in.getShort(start + pc + 1);
            return operation == Instruction.GOTO ? new int[] {there} : new int[] {there, next(pc)};
        }
        if (Instruction.jumpsFar(operation)) {
            return new int[] {pc + in.getInt(start + pc + 1)};
        }
        return isSwitch(operation) ? waysOfSwitch(pc) : new int[] {next(pc)};
    }

    private int[] waysOfSwitch(int pc) {
        int at = start + pc + 1 + Instruction.padding(pc);
        boolean isTable = operation(pc) == Instruction.TABLE_SWITCH;
        int count = isTable ? in.getInt(at + 8) - in.getInt(at + 4) + 1 : in.getInt(at + 4);
        int[] ways = new int[1 + count];
        ways[count] = pc + in.getInt(at);
        for (int one = 0; one < count; one++) {
            // In the one kind a way stands alone, in the other behind its number.
            ways[one] = pc + in.getInt(at + 12 + one * (isTable ? 4 : 8));
        }
        return ways;
    }

    /** The new place that a jump to this one leads to. */
    int reached(int pc) {
        return reached[pc];
    }

    /** The new place of the instruction. */
    int itself(int pc) {
        return itself[pc];
    }

    /** The whole code, as it is now. */
    byte[] code() {
        int end = 0;
        for (int pc = 0; pc < length; pc = next(pc)) {
            reached[pc] = end;
            itself[pc] = end + size(before[pc]);
            end = itself[pc] + newLength(pc) + size(behind[pc]);
        }
        reached[length] = end;
        itself[length] = end;
        if (end > MOST) {
            throw new Refused("it would be longer than a method may be");
        }
        ByteBuffer out = ByteBuffer.allocate(end);
        for (int pc = 0; pc < length; pc = next(pc)) {
            put(before[pc], out);
            instruction(pc, out);
            put(behind[pc], out);
        }
        return out.array();
    }

    private static int size(byte[] code) {
        return code == null ? 0 : code.length;
    }

    private static void put(byte[] code, ByteBuffer out) {
        if (code != null) {
            out.put(code);
        }
    }

    private static boolean isSwitch(int operation) {
        return operation == Instruction.TABLE_SWITCH || operation == Instruction.LOOKUP_SWITCH;
    }

    private int newLength(int pc) {
        int padded = isSwitch(operation(pc)) ? Instruction.padding(itself[pc]) - Instruction.padding(pc) : 0;
        return next(pc) - pc + padded;
    }

    private void instruction(int pc, ByteBuffer out) {
        int operation = operation(pc);
        if (Instruction.jumps(operation)) {
            int way = way(pc, in.getShort(start + pc + 1));
            if (way != (short) way) {
                throw new Refused("it would have jumps that are too far");
            }
            out.put((byte) operation).putShort((short) way);
        } else if (Instruction.jumpsFar(operation)) {
            out.put((byte) operation).putInt(way(pc, in.getInt(start + pc + 1)));
        } else if (isSwitch(operation)) {
            cases(pc, out);
        } else {
            out.put(in.array(), start + pc, next(pc) - pc);
        }
    }

    private int way(int pc, int old) {
        return reached[pc + old] - itself[pc];
    }

    private void cases(int pc, ByteBuffer out) {
        int operation = operation(pc);
        out.put((byte) operation);
        for (int zero = Instruction.padding(itself[pc]); zero > 0; zero--) {
            out.put((byte) 0);
        }
        int at = start + pc + 1 + Instruction.padding(pc);
        out.putInt(way(pc, in.getInt(at)));
        out.putInt(in.getInt(at + 4));
        boolean isTable = operation == Instruction.TABLE_SWITCH;
        if (isTable) {
            out.putInt(in.getInt(at + 8));
        }
        // The rest: ways, each after its number where the cases are looked up.
        int end = start + next(pc);
        for (at += isTable ? 12 : 8; at < end; at += isTable ? 4 : 8) {
            if (!isTable) {
                out.putInt(in.getInt(at));
            }
            out.putInt(way(pc, in.getInt(isTable ? at : at + 4)));
        }
    }
}
