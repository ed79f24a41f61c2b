package unflake.jvm.layers;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.CodeLayout;
import unflake.jvm.bytecode.ConstantPool;
import unflake.jvm.bytecode.Instructions;

/**
 * Inserts a probe before each conditional jump and switch of a method. It duplicates what the
 * instruction decides on, so that the control flow stays as it is.
 */
final class BranchInstrumenter {
    /** Two duplicated values and three numbers. */
    static final int EXTRA_STACK = 5;
    private static final String PROBE_CLASS = "unflake/jvm/layers/CodeProbe";
    private static final int DUP = 0x59;
    private static final int DUP2 = 0x5c;
    private static final int IFEQ = 0x99;
    private static final int IF_ICMPEQ = 0x9f;
    private static final int IF_ACMPEQ = 0xa5;
    private static final int IFNULL = 0xc6;
    /** By opcode, from {@code ifeq} on. */
    private static final String[] PROBES = {
        "ifeq", "ifne", "iflt", "ifge", "ifgt", "ifle", "icmpeq", "icmpne", "icmplt", "icmpge", "icmpgt", "icmple", "acmpeq", "acmpne"
    };

    private final CodeLayout layout;
    private final ConstantPool pool;
    private final ExecutedCode executed;
    private final String file;
    private final TreeMap<Integer, Integer> lines;
    private final Map<Integer, Integer> counts;

    /** {@code counts}: branching instructions of the class so far, by line. */
    BranchInstrumenter(CodeAttribute code, TreeMap<Integer, Integer> lines, ExecutedCode executed, String file, Map<Integer, Integer> counts) {
        layout = code.layout;
        pool = code.pool();
        this.lines = lines;
        this.executed = executed;
        this.file = file;
        this.counts = counts;
    }

    void instrument() throws IOException {
        for (int pc = 0; pc < layout.length; pc = layout.next(pc)) {
            int opcode = layout.opcode(pc);
            if (opcode == Instructions.TABLE_SWITCH || opcode == Instructions.LOOKUP_SWITCH) {
                insertAtSwitch(pc, opcode);
            } else if (opcode >= IFEQ && opcode < IFEQ + PROBES.length || opcode == IFNULL || opcode == IFNULL + 1) {
                insertAtJump(pc, opcode);
            }
        }
    }

    private void insertAtJump(int pc, int opcode) throws IOException {
        int branch = add(pc, layout.successors(pc));
        if (branch < 0) {
            return;
        }
        boolean isPair = opcode >= IF_ICMPEQ && opcode < IFNULL;
        boolean isReference = opcode >= IF_ACMPEQ;
        String probe = opcode == IFNULL ? "ifnull" : opcode == IFNULL + 1 ? "ifnonnull" : PROBES[opcode - IFEQ];
        String type = isReference ? "Ljava/lang/Object;" : "I";
        insert(pc, isPair ? DUP2 : DUP, probe, "(" + type + (isPair ? type : "") + "I)V", branch);
    }

    private void insertAtSwitch(int pc, int opcode) throws IOException {
        int[] keys = layout.switchKeys(pc);
        int branch = add(pc, layout.successors(pc));
        if (branch < 0) {
            return;
        }
        if (opcode == Instructions.TABLE_SWITCH) {
            insert(pc, DUP, "table", "(IIII)V", keys.length == 0 ? 0 : keys[0], keys.length, branch);
        } else {
            int number = CodeProbe.reserveSwitch(keys);
            if (number < 0) {
                executed.gap(ExecutedCode.TOO_MUCH);
            } else {
                insert(pc, DUP, "lookup", "(III)V", number, branch);
            }
        }
    }

    /** Returns the first number of the branches; -1 without a line, or if there are no more. */
    private int add(int pc, int[] targets) {
        Map.Entry<Integer, Integer> line = lines.floorEntry(pc);
        if (line == null) {
            return -1;
        }
        int ordinal = counts.merge(line.getValue(), 1, Integer::sum);
        String[] ways = new String[targets.length];
        for (int index = 0; index < ways.length; index++) {
            ways[index] = "branch " + ordinal + way(targets, index);
        }
        return executed.addBranches(file, line.getValue(), ways);
    }

    /** The line that it leads to, where that tells it from the other ways. */
    private String way(int[] targets, int index) {
        Map.Entry<Integer, Integer> line = lines.floorEntry(targets[index]);
        String destination = line == null ? "" : " to line " + line.getValue();
        // A switch can have a single way.
        if (targets.length != 2) {
            return ", case " + (index + 1) + destination;
        }
        Map.Entry<Integer, Integer> other = lines.floorEntry(targets[1 - index]);
        boolean isSame = line == null || other == null || line.getValue().equals(other.getValue());
        return isSame ? index == 0 ? ", jump" : ", no jump" : destination;
    }

    private void insert(int pc, int duplicate, String probe, String descriptor, int... numbers) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(duplicate);
        for (int number : numbers) {
            if (number == (short) number) {
                out.writeByte(Instructions.SIPUSH);
                out.writeShort(number);
            } else {
                out.writeByte(Instructions.LDC_W);
                out.writeShort(pool.addNumber(number));
            }
        }
        out.writeByte(Instructions.INVOKE_STATIC);
        out.writeShort(pool.addMethod(PROBE_CLASS, probe, descriptor));
        layout.insertBefore(pc, bytes.toByteArray());
    }
}
