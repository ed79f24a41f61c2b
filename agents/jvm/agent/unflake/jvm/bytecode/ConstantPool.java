package unflake.jvm.bytecode;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The constants of a class, and those that are added. */
public final class ConstantPool {
    private static final int UTF8 = 1;
    private static final int INTEGER = 3;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int STRING = 8;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;
    private static final int MAX_CONSTANTS = 65535;

    /** Offset of the first byte behind the constants. */
    final int end;
    private final ByteBuffer bytes;
    /** Offset of each constant. */
    private final int[] offsets;
    private final ByteArrayOutputStream added = new ByteArrayOutputStream();
    private final DataOutputStream out = new DataOutputStream(added);
    /** Indices of added constants by content. */
    private final Map<Object, Integer> indices = new HashMap<>();
    private int count;

    ConstantPool(ByteBuffer bytes) {
        this.bytes = bytes;
        count = u2(8);
        offsets = new int[count];
        int next = 10;
        for (int index = 1; index < count; index++) {
            offsets[index] = next;
            int tag = bytes.get(next);
            next += length(tag, next);
            if (tag == LONG || tag == DOUBLE) {
                index++;
            }
        }
        end = next;
    }

    private int length(int tag, int offset) {
        switch (tag) {
            case UTF8:
                return 3 + u2(offset + 1);
            case LONG:
            case DOUBLE:
                return 9;
            case INTEGER:
            case 4:
            case 9:
            case METHOD:
            case 11:
            case NAME_AND_TYPE:
            case 17:
            case 18:
                return 5;
            case 15:
                return 4;
            case CLASS:
            case STRING:
            case 16:
            case 19:
            case 20:
                return 3;
            default:
                throw new UnsupportedCodeException("it has an unknown constant: " + tag);
        }
    }

    private int u2(int offset) {
        return bytes.getShort(offset) & 0xffff;
    }

    public String text(int index) {
        int length = 2 + u2(offsets[index] + 1);
        try {
            return new DataInputStream(new ByteArrayInputStream(bytes.array(), offsets[index] + 1, length)).readUTF();
        } catch (IOException wrong) {
            throw new UnsupportedCodeException("it has a text that cannot be read: " + wrong.getMessage());
        }
    }

    /** Internal name of a class, with slashes. */
    public String type(int index) {
        return text(u2(offsets[index] + 1));
    }

    /** Of a field or method: class, name, descriptor. */
    public String[] member(int index) {
        int nameAndType = offsets[u2(offsets[index] + 3)];
        return new String[] {type(u2(offsets[index] + 1)), text(u2(nameAndType + 1)), text(u2(nameAndType + 3))};
    }

    int addText(String text) throws IOException {
        Integer existing = indices.get(text);
        if (existing != null) {
            return existing;
        }
        int index = next(text);
        out.writeByte(UTF8);
        out.writeUTF(text);
        return index;
    }

    public int addNumber(int number) throws IOException {
        Integer existing = indices.get(number);
        if (existing != null) {
            return existing;
        }
        int index = next(number);
        out.writeByte(INTEGER);
        out.writeInt(number);
        return index;
    }

    public int addMethod(String type, String name, String descriptor) throws IOException {
        return add(METHOD, addType(type), add(NAME_AND_TYPE, addText(name), addText(descriptor)));
    }

    public int addType(String name) throws IOException {
        return add(CLASS, addText(name));
    }

    int addString(String text) throws IOException {
        return add(STRING, addText(text));
    }

    /** Adds a constant that refers to others. */
    private int add(int tag, Integer... references) throws IOException {
        List<Object> key = Arrays.asList(tag, Arrays.asList(references));
        Integer existing = indices.get(key);
        if (existing != null) {
            return existing;
        }
        int index = next(key);
        out.writeByte(tag);
        for (int reference : references) {
            out.writeShort(reference);
        }
        return index;
    }

    /** Called before anything is written, so that a class that is full stays valid. */
    private int next(Object key) {
        if (count >= MAX_CONSTANTS) {
            throw new UnsupportedCodeException("it has too many constants");
        }
        indices.put(key, count);
        return count++;
    }

    /** The number of constants and all of them. */
    void write(DataOutputStream target) throws IOException {
        target.writeShort(count);
        target.write(bytes.array(), 10, end - 10);
        added.writeTo(target);
    }
}
