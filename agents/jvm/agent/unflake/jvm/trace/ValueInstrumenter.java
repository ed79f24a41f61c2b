package unflake.jvm.trace;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import unflake.jvm.bytecode.CodeLayout;
import unflake.jvm.bytecode.ConstantPool;
import unflake.jvm.bytecode.Instructions;
import unflake.jvm.bytecode.MethodDescriptor;

/**
 * Inserts probes for values: arguments, assignments to variables and fields, return values, and
 * results of nondeterministic calls. Each value is duplicated on the stack or loaded, and consumed
 * by the probe.
 */
final class ValueInstrumenter {
    /** How much deeper a probe makes the stack: a long or double, and the id of the name. */
    static final int EXTRA_STACK = 3;
    private static final int DUP = 0x59;
    private static final int DUP2 = 0x5c;
    private static final int PUTSTATIC = 0xb3;
    private static final int PUTFIELD = 0xb5;

    private final CodeLayout layout;
    private final ConstantPool pool;
    private final ProcessTrace trace;
    private final List<Variable> variables = new ArrayList<>();

    ValueInstrumenter(CodeLayout layout, ConstantPool pool, ProcessTrace trace) {
        this.layout = layout;
        this.pool = pool;
        this.trace = trace;
    }

    void addVariable(int start, int length, String name, String type, int slot) {
        variables.add(new Variable(start, start + length, name, type, slot));
    }

    /**
     * Arguments are recorded after the first line. Kotlin also has local variables whose scope
     * starts there and that are never assigned.
     */
    void recordArguments(boolean isStatic, String descriptor) throws IOException {
        int end = MethodDescriptor.parameterSlots(descriptor) + (isStatic ? 0 : 1);
        if (!layout.isJumpTarget(0)) {
            for (Variable variable : variables) {
                if (variable.start == 0 && variable.slot >= (isStatic ? 0 : 1) && variable.slot < end) {
                    layout.insertBefore(0, loadAndRecord(variable));
                }
            }
        }
    }

    /** Records what the instruction assigns or returns. {@code type}: the return type. */
    void recordEffect(int pc, String type) throws IOException {
        int opcode = layout.opcode(pc);
        int slot = layout.assignedSlot(pc);
        if (slot >= 0) {
            int next = layout.next(pc);
            for (Variable variable : variables) {
                if (variable.slot == slot && variable.start <= next && next < variable.end) {
                    layout.insertAfter(pc, loadAndRecord(variable));
                }
            }
        } else if (Instructions.isReturn(opcode) && !type.equals("V")) {
            layout.insertBefore(pc, duplicateAndRecord(type, "returns"));
        } else if (opcode == PUTSTATIC || opcode == PUTFIELD) {
            String[] field = pool.member(layout.u2(pc + 1));
            layout.insertBefore(pc, duplicateAndRecord(field[2], field[1]));
        }
    }

    /** Records the result of a call. */
    void recordResult(int pc, String[] member) throws IOException {
        String type = member[2].substring(member[2].indexOf(')') + 1);
        if (!type.equals("V")) {
            layout.insertAfter(pc, duplicateAndRecord(type, member[1] + "()"));
        }
    }

    private byte[] loadAndRecord(Variable variable) throws IOException {
        ByteBuffer code = ByteBuffer.allocate(10);
        int load = Instructions.load(kind(variable.type));
        if (variable.slot > 255) {
            code.put((byte) Instructions.WIDE).put((byte) load).putShort((short) variable.slot);
        } else {
            code.put((byte) load).put((byte) variable.slot);
        }
        return call(code, variable.type, variable.name);
    }

    private byte[] duplicateAndRecord(String type, String name) throws IOException {
        char kind = kind(type);
        ByteBuffer code = ByteBuffer.allocate(10).put((byte) (kind == 'J' || kind == 'D' ? DUP2 : DUP));
        return call(code, type, name);
    }

    private byte[] call(ByteBuffer code, String type, String name) throws IOException {
        char first = type.charAt(0);
        String parameter = first == 'L' || first == '[' ? "Ljava/lang/Object;" : first == 'B' || first == 'S' ? "I" : "" + first;
        code.put((byte) Instructions.LDC_W).putShort((short) pool.addNumber(trace.nameId(name)));
        code.put((byte) Instructions.INVOKE_STATIC).putShort((short) pool.addMethod(LineInstrumenter.PROBE_CLASS, "value", "(" + parameter + "I)V"));
        return Arrays.copyOf(code.array(), code.position());
    }

    /** {@code A} for references, otherwise the letter of the type. */
    private static char kind(String type) {
        char first = type.charAt(0);
        return first == 'L' || first == '[' ? 'A' : first;
    }

    /** A named variable and its scope. */
    private static final class Variable {
        final int start;
        final int end;
        final String name;
        final String type;
        final int slot;

        Variable(int start, int end, String name, String type, int slot) {
            this.start = start;
            this.end = end;
            this.name = name;
            this.type = type;
            this.slot = slot;
        }
    }
}
