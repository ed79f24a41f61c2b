package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The code of one method, as its class has it, to be written anew with other instructions between. */
final class Code {
    private static final String FRAMES = "StackMapTable";

    final Layout layout;
    final Pool pool;
    private final ByteBuffer in;
    /** Where the attribute is, and what comes behind its code. */
    private final int start;
    private final int handlers;
    private final int attributes;

    Code(ByteBuffer in, int start, Pool pool) {
        this.in = in;
        this.pool = pool;
        this.start = start;
        int length = in.getInt(start + 10);
        layout = new Layout(in, start + 14, length);
        handlers = start + 14 + length;
        attributes = handlers + 2 + 8 * u2(handlers);
    }

    /** Takes in a row of a table. */
    interface Row {
        void take(int at);
    }

    /** Has every row of the tables of this kind taken in, each so many bytes long. */
    void rows(String kind, int length, Row row) {
        int at = attributes + 2;
        for (int left = u2(attributes); left > 0; left--) {
            if (pool.text(u2(at)).equals(kind)) {
                for (int one = 0; one < u2(at + 6); one++) {
                    row.take(at + 8 + length * one);
                }
            }
            at += 6 + in.getInt(at + 2);
        }
    }

    /** Has every row of the table of what it catches taken in: from, until, what then, and the class. */
    void handlers(Row row) {
        for (int at = handlers + 2; at < attributes; at += 8) {
            row.take(at);
        }
    }

    /** The attribute anew. {@code room}: how much deeper the stack may be than it was. */
    byte[] written(int room) throws IOException {
        return written(room, null);
    }

    /** … with something behind it that catches everything, or null. */
    byte[] written(int room, Tail tail) throws IOException {
        byte[] code = layout.code();
        byte[] behind = tail == null ? new byte[0] : tail.code;
        if (code.length + behind.length > Layout.MOST) {
            throw new Refused("it would be longer than a method may be");
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(Math.min(u2(start + 6) + room, 65535));
        out.writeShort(u2(start + 8));
        out.writeInt(code.length + behind.length);
        out.write(code);
        out.write(behind);
        int count = u2(handlers);
        out.writeShort(tail == null ? count : count + 1);
        for (int at = handlers + 2; at < attributes; at += 8) {
            for (int part = 0; part < 3; part++) {
                out.writeShort(layout.reached(u2(at + 2 * part)));
            }
            out.writeShort(u2(at + 6));
        }
        if (tail != null) {
            // The last of all: what the method catches itself it still does. What was put before it all is not covered.
            for (int place : new int[] {layout.itself(0), code.length, code.length, 0}) {
                out.writeShort(place);
            }
        }
        writeAttributes(out, tail);
        byte[] content = bytes.toByteArray();
        ByteBuffer whole = ByteBuffer.allocate(6 + content.length);
        return whole.putShort(in.getShort(start)).putInt(content.length).put(content).array();
    }

    private void writeAttributes(DataOutputStream out, Tail tail) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream kept = new DataOutputStream(bytes);
        int count = 0;
        int at = attributes + 2;
        boolean hasFrames = false;
        for (int left = u2(attributes); left > 0; left--) {
            String kind = pool.text(u2(at));
            hasFrames |= kind.equals(FRAMES);
            byte[] content = moved(kind, at + 6, tail);
            if (content != null) {
                kept.writeShort(u2(at));
                kept.writeInt(content.length);
                kept.write(content);
                count++;
            }
            at += 6 + in.getInt(at + 2);
        }
        if (tail != null && !hasFrames) {
            byte[] content = Frames.moved(ByteBuffer.allocate(2), 0, layout, tail);
            kept.writeShort(pool.addText(FRAMES));
            kept.writeInt(content.length);
            kept.write(content);
            count++;
        }
        out.writeShort(count);
        bytes.writeTo(out);
    }

    /** An attribute of code at its new places. Those that only compilers and other tools read are left out. */
    private byte[] moved(String kind, int at, Tail tail) throws IOException {
        switch (kind) {
            case FRAMES:
                return Frames.moved(in, at, layout, tail);
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

    int u2(int at) {
        return in.getShort(at) & 0xffff;
    }
}
