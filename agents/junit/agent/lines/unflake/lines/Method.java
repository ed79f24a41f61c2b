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
    private final Layout layout;
    /** Where the attribute is, and what comes behind its code. */
    private final int start;
    private final int handlers;
    private final int attributes;

    Method(ByteBuffer in, int start, Pool pool, Places places, String name) {
        this.in = in;
        this.pool = pool;
        this.places = places;
        this.name = name;
        this.start = start;
        int length = in.getInt(start + 10);
        layout = new Layout(in, start + 14, length);
        handlers = start + 14 + length;
        attributes = handlers + 2 + 8 * u2(handlers);
    }

    /** The attribute anew; null: it has no lines, and stays as it is. */
    byte[] probed(int probe) throws IOException {
        TreeMap<Integer, Integer> lines = lines();
        if (lines.isEmpty()) {
            return null;
        }
        for (Map.Entry<Integer, Integer> line : lines.entrySet()) {
            layout.putBefore(line.getKey(), call(places.add(name, line.getValue()), probe));
            Integer next = lines.higherKey(line.getKey());
            reaches(line.getKey(), next == null ? layout.length : next);
        }
        return written(layout.code());
    }

    /** The first instructions of lines. */
    private TreeMap<Integer, Integer> lines() {
        TreeMap<Integer, Integer> lines = new TreeMap<>();
        int at = attributes + 2;
        for (int left = u2(attributes); left > 0; left--) {
            if (pool.text(u2(at)).equals("LineNumberTable")) {
                for (int one = 0; one < u2(at + 6); one++) {
                    lines.put(u2(at + 8 + 4 * one), u2(at + 10 + 4 * one));
                }
            }
            at += 6 + in.getInt(at + 2);
        }
        return lines;
    }

    /** Says what these instructions call that need not be the same in every run. */
    private void reaches(int from, int until) throws IOException {
        for (int pc = from; pc < until; pc = layout.next(pc)) {
            int operation = layout.operation(pc);
            if (operation >= 0xb6 && operation <= 0xb9) {
                String[] member = pool.member(layout.u2(pc + 1));
                String cause = Reaches.cause(member[0], member[1], member[2]);
                if (cause != null) {
                    places.reach(cause, member[0], member[1]);
                }
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
        out.writeShort(Math.min(u2(start + 6) + ROOM, 65535));
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
