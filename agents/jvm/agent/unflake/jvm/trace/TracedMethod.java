package unflake.jvm.trace;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.CodeLayout;
import unflake.jvm.bytecode.LineProbes;

/** One method with a probe before the first instruction of each line. */
final class TracedMethod {
    private final CodeAttribute code;
    private final PlaceTable table;
    private final String name;
    private final String descriptor;
    private final CodeLayout layout;
    /** Null if values are not requested. */
    private final ValueInstrumenter values;

    TracedMethod(CodeAttribute code, PlaceTable table, String name, String descriptor) {
        this.code = code;
        this.table = table;
        this.name = name;
        this.descriptor = descriptor;
        layout = code.layout;
        values = table.trace.recordsValues ? new ValueInstrumenter(layout, code.pool(), table.trace) : null;
    }

    /** Returns the new code attribute; null if the method has no line numbers. */
    byte[] instrument(int probe, boolean isStatic) throws IOException {
        TreeMap<Integer, Integer> lines = readLines();
        if (lines.isEmpty()) {
            return null;
        }
        for (Map.Entry<Integer, Integer> line : lines.entrySet()) {
            layout.insertBefore(line.getKey(), LineProbes.call(code.pool(), table.add(name, line.getValue()), probe));
            if (values != null && line.getKey() == 0) {
                values.recordArguments(isStatic, descriptor);
            }
            Integer next = lines.higherKey(line.getKey());
            inspect(line.getKey(), next == null ? layout.length : next);
        }
        return code.write(values == null ? LineProbes.EXTRA_STACK : ValueInstrumenter.EXTRA_STACK);
    }

    /** Lines by first instruction. Also reads the names of variables. */
    private TreeMap<Integer, Integer> readLines() throws IOException {
        TreeMap<Integer, Integer> lines = LineProbes.lines(code);
        if (values != null) {
            code.forEachRow("LocalVariableTable", 5, row ->
                values.addVariable(row[0], row[1], code.pool().text(row[2]), code.pool().text(row[3]), row[4]));
        }
        return lines;
    }

    /** Records nondeterministic calls of these instructions, and inserts probes for values. */
    private void inspect(int start, int end) throws IOException {
        String returnType = descriptor.substring(descriptor.indexOf(')') + 1);
        for (int pc = start; pc < end; pc = layout.next(pc)) {
            int opcode = layout.opcode(pc);
            boolean isCall = opcode >= 0xb6 && opcode <= 0xb9;
            String[] member = isCall ? code.pool().member(layout.u2(pc + 1)) : null;
            String cause = isCall ? NondeterministicCalls.cause(member[0], member[1], member[2]) : null;
            if (cause != null) {
                table.addCall(cause, member[0], member[1]);
            }
            if (values != null && cause != null) {
                values.recordResult(pc, member);
            } else if (values != null) {
                values.recordEffect(pc, returnType);
            }
        }
    }
}
