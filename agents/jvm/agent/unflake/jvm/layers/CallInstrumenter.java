package unflake.jvm.layers;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.CodeLayout;
import unflake.jvm.bytecode.ConstantPool;
import unflake.jvm.bytecode.Instructions;
import unflake.jvm.bytecode.MethodDescriptor;
import unflake.jvm.bytecode.MethodInfo;

/**
 * Inserts calls of {@link CallRecorder} at the entry and at each return of a method, with its object,
 * its parameters and its result. Parameters that the method assigns are left out at its returns: the
 * variable may have another type there.
 */
final class CallInstrumenter {
    /** The result, the array twice, an index, and a long or double. */
    static final int EXTRA_STACK = 7;
    private static final String PROBE_CLASS = "unflake/jvm/layers/CallRecorder";
    private static final int ANEWARRAY = 0xbd;
    private static final int AASTORE = 0x53;
    private static final int DUP = 0x59;
    private static final int DUP2 = 0x5c;
    private static final int ACONST_NULL = 0x01;

    /** A parameter or {@code this}. */
    private static final class Parameter {
        final String name;
        final char kind;
        final int slot;

        Parameter(String name, char kind, int slot) {
            this.name = name;
            this.kind = kind;
            this.slot = slot;
        }
    }

    private final MethodInfo method;
    private final CodeAttribute code;
    private final CodeLayout layout;
    private final ConstantPool pool;

    CallInstrumenter(MethodInfo method, CodeAttribute code) {
        this.method = method;
        this.code = code;
        layout = code.layout;
        pool = code.pool();
    }

    /** {@code function}: as people write it. */
    void instrument(String file, String function) throws IOException {
        boolean isConstructor = method.name().equals("<init>");
        List<Parameter> parameters = parameters();
        // Before the superclass is initialized, the object cannot be passed on.
        List<Parameter> known = isConstructor ? parameters.subList(1, parameters.size()) : parameters;
        String result = method.descriptor().substring(method.descriptor().indexOf(')') + 1);
        List<Parameter> kept = unassigned(parameters);
        // A jump to the first instruction would be another entry.
        if (!layout.isJumpTarget(0)) {
            int entry = CallRecorder.addPoint(file, function, true, names(known, "V"));
            layout.insertBefore(0, probe(known, entry, "V"));
        }
        int exit = -1;
        for (int pc = 0; pc < layout.length; pc = layout.next(pc)) {
            if (Instructions.isReturn(layout.opcode(pc))) {
                exit = exit >= 0 ? exit : CallRecorder.addPoint(file, function, false, names(kept, result));
                layout.insertBefore(pc, probe(kept, exit, result));
            }
        }
    }

    private List<Parameter> parameters() throws IOException {
        Map<Integer, String> names = new TreeMap<>();
        code.forEachRow("LocalVariableTable", 5, row -> {
            if (row[0] == 0) {
                names.putIfAbsent(row[4], pool.text(row[2]));
            }
        });
        List<Parameter> parameters = new ArrayList<>();
        int slot = 0;
        if (!method.isStatic()) {
            parameters.add(new Parameter("this", 'A', slot++));
        }
        String kinds = MethodDescriptor.parameterKinds(method.descriptor());
        for (int index = 0; index < kinds.length(); index++) {
            char kind = kinds.charAt(index);
            parameters.add(new Parameter(names.getOrDefault(slot, "parameter " + (index + 1)), kind, slot));
            slot += kind == 'J' || kind == 'D' ? 2 : 1;
        }
        return parameters;
    }

    private List<Parameter> unassigned(List<Parameter> parameters) {
        BitSet assigned = new BitSet();
        for (int pc = 0; pc < layout.length; pc = layout.next(pc)) {
            int slot = layout.assignedSlot(pc);
            if (slot >= 0) {
                // A long or double also takes the next variable.
                assigned.set(slot, slot + 2);
            }
        }
        List<Parameter> kept = new ArrayList<>();
        for (Parameter parameter : parameters) {
            int width = parameter.kind == 'J' || parameter.kind == 'D' ? 2 : 1;
            int clash = assigned.nextSetBit(parameter.slot);
            if (clash < 0 || clash >= parameter.slot + width) {
                kept.add(parameter);
            }
        }
        return kept;
    }

    private static List<String> names(List<Parameter> parameters, String result) {
        List<String> names = new ArrayList<>();
        parameters.forEach(parameter -> names.add(parameter.name));
        names.addAll(result.equals("V") ? Collections.emptyList() : Collections.singletonList("return"));
        return names;
    }

    /** Passes the point, the parameters as an array, and at an exit the result. */
    private byte[] probe(List<Parameter> parameters, int point, String result) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        char kind = result.charAt(0) == '[' || result.charAt(0) == 'L' ? 'A' : result.charAt(0);
        if (kind != 'V') {
            out.writeByte(kind == 'J' || kind == 'D' ? DUP2 : DUP);
            box(kind, out);
        }
        number(point, out);
        if (parameters.isEmpty()) {
            out.writeByte(ACONST_NULL);
        } else {
            number(parameters.size(), out);
            out.writeByte(ANEWARRAY);
            out.writeShort(pool.addType("java/lang/Object"));
            for (int index = 0; index < parameters.size(); index++) {
                Parameter parameter = parameters.get(index);
                out.writeByte(DUP);
                number(index, out);
                out.writeByte(Instructions.WIDE);
                out.writeByte(Instructions.load(parameter.kind));
                out.writeShort(parameter.slot);
                box(parameter.kind, out);
                out.writeByte(AASTORE);
            }
        }
        out.writeByte(Instructions.INVOKE_STATIC);
        out.writeShort(pool.addMethod(PROBE_CLASS, kind == 'V' ? "pass" : "result", "(" + (kind == 'V' ? "" : "Ljava/lang/Object;") + "I[Ljava/lang/Object;)V"));
        return bytes.toByteArray();
    }

    private void number(int number, DataOutputStream out) throws IOException {
        if (number <= Short.MAX_VALUE) {
            out.writeByte(Instructions.SIPUSH);
            out.writeShort(number);
        } else {
            out.writeByte(Instructions.LDC_W);
            out.writeShort(pool.addNumber(number));
        }
    }

    private void box(char kind, DataOutputStream out) throws IOException {
        String boxed = boxedType(kind);
        if (boxed != null) {
            out.writeByte(Instructions.INVOKE_STATIC);
            out.writeShort(pool.addMethod(boxed, "valueOf", "(" + kind + ")L" + boxed + ";"));
        }
    }

    private static String boxedType(char kind) {
        String[] types = {"Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double"};
        int index = "ZBCSIJFD".indexOf(kind);
        return index < 0 ? null : "java/lang/" + types[index];
    }
}
