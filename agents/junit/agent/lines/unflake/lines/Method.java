package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/** The code of one method, with a probe before the first instruction of each of its lines. */
final class Method {
    /** Deepest that a probe makes the stack, beyond what is there. */
    private static final int ROOM = 1;

    private final ByteBuffer in;
    private final Pool pool;
    private final Places places;
    private final String name;
    private final String descriptor;
    private final Layout layout;
    /** Null: values are not wanted. */
    private final Watch watch;
    /** Where the attribute is, and what comes behind its code. */
    private final int start;
    private final int handlers;
    private final int attributes;

    Method(ByteBuffer in, int start, Pool pool, Places places, String name, String descriptor) {
        this.in = in;
        this.pool = pool;
        this.places = places;
        this.name = name;
        this.descriptor = descriptor;
        this.start = start;
        int length = in.getInt(start + 10);
        layout = new Layout(in, start + 14, length);
        handlers = start + 14 + length;
        attributes = handlers + 2 + 8 * u2(handlers);
        watch = places.part.wantsValues ? new Watch(layout, pool, places.part) : null;
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
        return written(layout.code());
    }

    /** The first instructions of lines; on the way, which variables have names. */
    private TreeMap<Integer, Integer> lines() {
        TreeMap<Integer, Integer> lines = new TreeMap<>();
        int at = attributes + 2;
        for (int left = u2(attributes); left > 0; left--) {
            String kind = pool.text(u2(at));
            for (int row = at + 8; kind.equals("LineNumberTable") && row < at + 8 + 4 * u2(at + 6); row += 4) {
                lines.put(u2(row), u2(row + 2));
            }
            boolean isWatched = watch != null && kind.equals("LocalVariableTable");
            for (int row = at + 8; isWatched && row < at + 8 + 10 * u2(at + 6); row += 10) {
                watch.add(u2(row), u2(row + 2), pool.text(u2(row + 4)), pool.text(u2(row + 6)), u2(row + 8));
            }
            at += 6 + in.getInt(at + 2);
        }
        return lines;
    }

    /** Says what these instructions of a line call that need not be the same in every run, and has values told. */
    private void look(int from, int until) throws IOException {
        String returned = descriptor.substring(descriptor.indexOf(')') + 1);
        for (int pc = from; pc < until; pc = layout.next(pc)) {
            int operation = layout.operation(pc);
            boolean isCall = operation >= 0xb6 && operation <= 0xb9;
            String[] member = isCall ? pool.member(layout.u2(pc + 1)) : null;
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
        ByteBuffer code = ByteBuffer.allocate(6);
        if (place <= Short.MAX_VALUE) {
            code.put((byte) Instruction.SIPUSH).putShort((short) place);
        } else {
            code.put((byte) Instruction.LDC_W).putShort((short) pool.addNumber(place));
        }
        return code.put((byte) Instruction.INVOKE_STATIC).putShort((short) probe).array();
    }

    private byte[] written(byte[] code) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(Math.min(u2(start + 6) + (watch == null ? ROOM : Watch.ROOM), 65535));
        out.writeShort(u2(start + 8));
        out.writeInt(code.length);
        out.write(code);
        int count = u2(handlers);
        out.writeShort(count);
        for (int at = handlers + 2; at < attributes; at += 8) {
            for (int part = 0; part < 3; part++) {
                out.writeShort(layout.reached(u2(at + 2 * part)));
            }
            out.writeShort(u2(at + 6));
        }
        writeAttributes(out);
        byte[] content = bytes.toByteArray();
        ByteBuffer whole = ByteBuffer.allocate(6 + content.length);
        return whole.putShort(in.getShort(start)).putInt(content.length).put(content).array();
    }

    private void writeAttributes(DataOutputStream out) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream kept = new DataOutputStream(bytes);
        int count = 0;
        int at = attributes + 2;
        for (int left = u2(attributes); left > 0; left--) {
            byte[] content = moved(pool.text(u2(at)), at + 6);
            if (content != null) {
                kept.writeShort(u2(at));
                kept.writeInt(content.length);
                kept.write(content);
                count++;
            }
            at += 6 + in.getInt(at + 2);
        }
        out.writeShort(count);
        bytes.writeTo(out);
    }

    /** An attribute of code at its new places. Those that only compilers and other tools read are left out. */
    private byte[] moved(String kind, int at) throws IOException {
        switch (kind) {
            case "StackMapTable":
                return Frames.moved(in, at, layout);
            case "LineNumberTable":
                return table(at, 4, false);
            case "LocalVariableTable":
            case "LocalVariableTypeTable":
                return table(at, 10, true);
            default:
                return null;
        }
    }

    /** A table the rows of which begin with a place and, where it has them, a length. */
    private byte[] table(int at, int row, boolean hasLengths) {
        int count = u2(at);
        byte[] content = new byte[2 + count * row];
        System.arraycopy(in.array(), at, content, 0, content.length);
        ByteBuffer table = ByteBuffer.wrap(content);
        for (int one = 0; one < count; one++) {
            int from = u2(at + 2 + one * row);
            table.putShort(2 + one * row, (short) layout.reached(from));
            if (hasLengths) {
                int length = layout.reached(from + u2(at + 4 + one * row)) - layout.reached(from);
                table.putShort(4 + one * row, (short) length);
            }
        }
        return content;
    }

    private int u2(int at) {
        return in.getShort(at) & 0xffff;
    }
}
