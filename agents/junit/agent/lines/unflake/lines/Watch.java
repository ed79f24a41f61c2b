package unflake.lines;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Has the values told that a method comes by: its arguments, what its variables and fields become, what it gives back, and what it
 * gets from whatever need not give the same in every run. Each is doubled on the stack or loaded, and taken away again.
 */
final class Watch {
    /** Deepest that this makes the stack: a long or double, and the number of a name. */
    static final int ROOM = 3;
    private static final int DUP = 0x59;
    private static final int DUP2 = 0x5c;
    private static final int LOAD = 0x15;
    private static final int WIDE = 0xc4;
    private static final int INCREMENT = 0x84;
    /** The kinds of instructions that load, store and return, in their order. */
    private static final String KINDS = "IJFDA";

    private final Layout layout;
    private final Pool pool;
    private final Part part;
    private final List<Variable> variables = new ArrayList<>();

    Watch(Layout layout, Pool pool, Part part) {
        this.layout = layout;
        this.pool = pool;
        this.part = part;
    }

    void add(int from, int length, String name, String type, int slot) {
        variables.add(new Variable(from, from + length, name, type, slot));
    }

    /** What it is given; told behind its first line. */
    void arguments(boolean isStatic) throws IOException {
        if (!layout.isReached(0)) {
            for (Variable one : variables) {
                if (one.from == 0 && (isStatic || one.slot > 0)) {
                    layout.putBefore(0, told(one));
                }
            }
        }
    }

    /** What the instruction at this place brings. {@code returned}: what the method gives back. */
    void look(int pc, String returned) throws IOException {
        int operation = layout.operation(pc);
        int slot = stored(pc, operation);
        if (slot >= 0) {
            int next = layout.next(pc);
            for (Variable one : variables) {
                if (one.slot == slot && one.from <= next && next < one.until) {
                    layout.putBehind(pc, told(one));
                }
            }
        } else if (operation >= 0xac && operation <= 0xb0) {
            layout.putBefore(pc, doubled(returned, "returns"));
        } else if (operation == 0xb3 || operation == 0xb5) {
            String[] field = pool.member(layout.u2(pc + 1));
            layout.putBefore(pc, doubled(field[2], field[1]));
        }
    }

    /** What a call of this method gave. */
    void got(int pc, String[] member) throws IOException {
        String type = member[2].substring(member[2].indexOf(')') + 1);
        if (!type.equals("V")) {
            layout.putBehind(pc, doubled(type, member[1] + "()"));
        }
    }

    /** The variable that an instruction changes; -1: none. */
    private int stored(int pc, int operation) {
        if (operation == WIDE) {
            int wide = layout.operation(pc + 1);
            return wide == INCREMENT || wide >= 0x36 && wide <= 0x3a ? layout.u2(pc + 2) : -1;
        }
        if (operation == INCREMENT || operation >= 0x36 && operation <= 0x3a) {
            return layout.operation(pc + 1);
        }
        return operation >= 0x3b && operation <= 0x4e ? (operation - 0x3b) % 4 : -1;
    }

    private byte[] told(Variable one) throws IOException {
        ByteBuffer code = ByteBuffer.allocate(10);
        int load = LOAD + KINDS.indexOf(kind(one.type));
        if (one.slot > 255) {
            code.put((byte) WIDE).put((byte) load).putShort((short) one.slot);
        } else {
            code.put((byte) load).put((byte) one.slot);
        }
        return call(code, one.type, one.name);
    }

    private byte[] doubled(String type, String name) throws IOException {
        char kind = kind(type);
        ByteBuffer code = ByteBuffer.allocate(10).put((byte) (kind == 'J' || kind == 'D' ? DUP2 : DUP));
        return call(code, type, name);
    }

    private byte[] call(ByteBuffer code, String type, String name) throws IOException {
        char first = type.charAt(0);
        String told = first == 'L' || first == '[' ? "Ljava/lang/Object;" : first == 'B' || first == 'S' ? "I" : "" + first;
        code.put((byte) Instruction.LDC_W).putShort((short) pool.addNumber(part.name(name)));
        code.put((byte) Instruction.INVOKE_STATIC).putShort((short) pool.addMethod(Probes.PROBE, "value", "(" + told + "I)V"));
        byte[] whole = new byte[code.position()];
        System.arraycopy(code.array(), 0, whole, 0, whole.length);
        return whole;
    }

    /** How instructions see a type. */
    private static char kind(String type) {
        char first = type.charAt(0);
        return first == 'L' || first == '[' ? 'A' : "ZBCS".indexOf(first) >= 0 ? 'I' : first;
    }

    /** A variable that has a name, and where in the method it has it. */
    private static final class Variable {
        final int from;
        final int until;
        final String name;
        final String type;
        final int slot;

        Variable(int from, int until, String name, String type, int slot) {
            this.from = from;
            this.until = until;
            this.name = name;
            this.type = type;
            this.slot = slot;
        }
    }
}
