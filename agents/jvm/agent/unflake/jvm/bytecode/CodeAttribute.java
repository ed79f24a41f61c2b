package unflake.jvm.bytecode;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The code attribute of a method, to be written again with instructions inserted. */
public final class CodeAttribute extends ClassFileReader {
    private static final String FRAMES = "StackMapTable";

    public final CodeLayout layout;
    private final int start;
    private final int handlers;
    private final int attributes;

    CodeAttribute(ByteBuffer in, int start, ConstantPool pool) {
        super(in, pool);
        this.start = start;
        int length = in.getInt(start + 10);
        layout = new CodeLayout(in, start + 14, length);
        handlers = start + 14 + length;
        attributes = handlers + 2 + 8 * u2(handlers);
    }

    public ConstantPool pool() {
        return pool;
    }

    /** Receives the columns of a table row, two bytes each. */
    public interface RowVisitor {
        void visit(int[] columns);
    }

    /** Visits the rows of all tables with this name. */
    public void forEachRow(String table, int columns, RowVisitor visitor) throws IOException {
        attributes(attributes, (name, offset, length) -> {
            for (int row = 0; name.equals(table) && row < u2(offset + 6); row++) {
                visitor.visit(row(offset + 8 + 2 * columns * row, columns));
            }
        });
    }

    /** Visits the exception table: start, end, handler, and the constant of the class. */
    void forEachHandler(RowVisitor visitor) {
        for (int offset = handlers + 2; offset < attributes; offset += 8) {
            visitor.visit(row(offset, 4));
        }
    }

    private int[] row(int offset, int columns) {
        int[] row = new int[columns];
        for (int column = 0; column < columns; column++) {
            row[column] = u2(offset + 2 * column);
        }
        return row;
    }

    /** Returns the new attribute. {@code extraStack}: how much deeper the stack may become. */
    public byte[] write(int extraStack) throws IOException {
        return write(extraStack, null);
    }

    /** Also appends a block that catches everything, unless it is null. */
    byte[] write(int extraStack, CatchAllBlock block) throws IOException {
        byte[] code = layout.assemble();
        byte[] appended = block == null ? new byte[0] : block.code;
        if (code.length + appended.length > CodeLayout.MAX_LENGTH) {
            throw new UnsupportedCodeException("it would be longer than a method may be");
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(Math.min(u2(start + 6) + extraStack, 65535));
        out.writeShort(u2(start + 8));
        out.writeInt(code.length + appended.length);
        out.write(code);
        out.write(appended);
        int count = u2(handlers);
        out.writeShort(block == null ? count : count + 1);
        for (int offset = handlers + 2; offset < attributes; offset += 8) {
            for (int part = 0; part < 3; part++) {
                out.writeShort(layout.newTarget(u2(offset + 2 * part)));
            }
            out.writeShort(u2(offset + 6));
        }
        if (block != null) {
            // Last, so that the method's own handlers apply first. Entry code is not covered.
            for (int value : new int[] {layout.newPosition(0), code.length, code.length, 0}) {
                out.writeShort(value);
            }
        }
        writeAttributes(out, block);
        byte[] content = bytes.toByteArray();
        ByteBuffer whole = ByteBuffer.allocate(6 + content.length);
        return whole.putShort(in.getShort(start)).putInt(content.length).put(content).array();
    }

    private void writeAttributes(DataOutputStream out, CatchAllBlock block) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream kept = new DataOutputStream(bytes);
        boolean[] hasFrames = new boolean[1];
        int[] count = new int[1];
        attributes(attributes, (name, offset, length) -> {
            hasFrames[0] |= name.equals(FRAMES);
            byte[] content = relocated(name, offset + 6, block);
            if (content != null) {
                writeAttribute(u2(offset), content, kept);
                count[0]++;
            }
        });
        if (block != null && !hasFrames[0]) {
            writeAttribute(pool.addText(FRAMES), StackMapFrames.relocate(ByteBuffer.allocate(2), 0, layout, block), kept);
            count[0]++;
        }
        out.writeShort(count[0]);
        bytes.writeTo(out);
    }

    private static void writeAttribute(int name, byte[] content, DataOutputStream out) throws IOException {
        out.writeShort(name);
        out.writeInt(content.length);
        out.write(content);
    }

    /** An attribute with new offsets; null for those that only compilers and other tools read. */
    private byte[] relocated(String name, int offset, CatchAllBlock block) throws IOException {
        switch (name) {
            case FRAMES:
                return StackMapFrames.relocate(in, offset, layout, block);
            case "LineNumberTable":
                return table(offset, 4, false);
            case "LocalVariableTable":
            case "LocalVariableTypeTable":
                return table(offset, 10, true);
            default:
                return null;
        }
    }

    /** A table whose rows start with an offset and, optionally, a length. */
    private byte[] table(int offset, int rowLength, boolean hasLengths) {
        int count = u2(offset);
        byte[] content = new byte[2 + count * rowLength];
        System.arraycopy(in.array(), offset, content, 0, content.length);
        ByteBuffer table = ByteBuffer.wrap(content);
        for (int row = 0; row < count; row++) {
            int from = u2(offset + 2 + row * rowLength);
            table.putShort(2 + row * rowLength, (short) layout.newTarget(from));
            if (hasLengths) {
                int length = layout.newTarget(from + u2(offset + 4 + row * rowLength)) - layout.newTarget(from);
                table.putShort(4 + row * rowLength, (short) length);
            }
        }
        return content;
    }
}
