package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The code of one method, as its class has it, to be written anew with other instructions between. */
final class Code {
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

    /** The attribute anew. {@code room}: how much deeper the stack may be than it was. */
    byte[] written(int room) throws IOException {
        byte[] code = layout.code();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(Math.min(u2(start + 6) + room, 65535));
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

    int u2(int at) {
        return in.getShort(at) & 0xffff;
    }
}
