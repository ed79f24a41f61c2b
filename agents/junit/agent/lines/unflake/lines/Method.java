package unflake.lines;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/** The code of one method, with a probe before the first instruction of each of its lines. */
final class Method {
    /** Deepest that a probe makes the stack, beyond what is there. */
    private static final int ROOM = 1;

    private final Code code;
    private final Places places;
    private final String name;
    private final String descriptor;
    private final Layout layout;
    /** Null: values are not wanted. */
    private final Watch watch;

    Method(Code code, Places places, String name, String descriptor) {
        this.code = code;
        this.places = places;
        this.name = name;
        this.descriptor = descriptor;
        layout = code.layout;
        watch = places.part.wantsValues ? new Watch(layout, code.pool, places.part) : null;
    }

    /** The attribute anew; null: it has no lines, and stays as it is. */
    byte[] probed(int probe, boolean isStatic) throws IOException {
        TreeMap<Integer, Integer> lines = lines();
        if (lines.isEmpty()) {
            return null;
        }
        for (Map.Entry<Integer, Integer> line : lines.entrySet()) {
            layout.putBefore(line.getKey(), call(places.add(name, line.getValue()), probe));
            if (watch != null && line.getKey() == 0) {
                watch.arguments(isStatic);
            }
            Integer next = lines.higherKey(line.getKey());
            look(line.getKey(), next == null ? layout.length : next);
        }
        return code.written(watch == null ? ROOM : Watch.ROOM);
    }

    /** The first instructions of lines; on the way, which variables have names. */
    private TreeMap<Integer, Integer> lines() {
        TreeMap<Integer, Integer> lines = new TreeMap<>();
        code.rows("LineNumberTable", 4, row -> lines.put(code.u2(row), code.u2(row + 2)));
        if (watch != null) {
            code.rows("LocalVariableTable", 10, row -> {
                String variable = code.pool.text(code.u2(row + 4));
                watch.add(code.u2(row), code.u2(row + 2), variable, code.pool.text(code.u2(row + 6)), code.u2(row + 8));
            });
        }
        return lines;
    }

    /** Says what these instructions of a line call that need not be the same in every run, and has values told. */
    private void look(int from, int until) throws IOException {
        String returned = descriptor.substring(descriptor.indexOf(')') + 1);
        for (int pc = from; pc < until; pc = layout.next(pc)) {
            int operation = layout.operation(pc);
            boolean isCall = operation >= 0xb6 && operation <= 0xb9;
            String[] member = isCall ? code.pool.member(layout.u2(pc + 1)) : null;
            String cause = isCall ? Reaches.cause(member[0], member[1], member[2]) : null;
            if (cause != null) {
                places.reach(cause, member[0], member[1]);
            }
            if (watch != null && cause != null) {
                watch.got(pc, member);
            } else if (watch != null) {
                watch.look(pc, returned);
            }
        }
    }

    private byte[] call(int place, int probe) throws IOException {
        ByteBuffer call = ByteBuffer.allocate(6);
        if (place <= Short.MAX_VALUE) {
            call.put((byte) Instruction.SIPUSH).putShort((short) place);
        } else {
            call.put((byte) Instruction.LDC_W).putShort((short) code.pool.addNumber(place));
        }
        return call.put((byte) Instruction.INVOKE_STATIC).putShort((short) probe).array();
    }
}
