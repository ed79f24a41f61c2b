package unflake.lines;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/** The constants of a class, and those that probes need besides. */
final class Pool {
    private static final int UTF8 = 1;
    private static final int INTEGER = 3;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int STRING = 8;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;
    private static final int MOST = 65535;

    /** Where the class goes on. */
    final int end;
    private final ByteBuffer bytes;
    /** Where each constant is. */
    private final int[] at;
    private final ByteArrayOutputStream added = new ByteArrayOutputStream();
    private final DataOutputStream add = new DataOutputStream(added);
    /** What was added, by what it is. */
    private final Map<String, Integer> texts = new HashMap<>();
    private final Map<Integer, Integer> numbers = new HashMap<>();
    private final Map<String, Integer> methods = new HashMap<>();
    private int count;

    Pool(ByteBuffer bytes) {
        this.bytes = bytes;
        count = u2(8);
        at = new int[count];
        int next = 10;
        for (int index = 1; index < count; index++) {
            at[index] = next;
            int tag = bytes.get(next);
            next += length(tag, next);
            if (tag == LONG || tag == DOUBLE) {
                index++;
            }
        }
        end = next;
    }

    private int length(int tag, int where) {
        switch (tag) {
            case UTF8:
                return 3 + u2(where + 1);
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
                throw new Refused("it has a constant of a kind that is not known here: " + tag);
        }
    }

    private int u2(int where) {
        return bytes.getShort(where) & 0xffff;
    }

    String text(int index) {
        int length = 2 + u2(at[index] + 1);
        try {
            return new DataInputStream(new ByteArrayInputStream(bytes.array(), at[index] + 1, length)).readUTF();
        } catch (IOException wrong) {
            throw new Refused("it has a text that cannot be read: " + wrong.getMessage());
        }
    }

    /** The name of a class, with slashes. */
    String type(int index) {
        return text(u2(at[index] + 1));
    }

    /** Of a field or method: its class, its name, its type. */
    String[] member(int index) {
        int named = at[u2(at[index] + 3)];
        return new String[] {type(u2(at[index] + 1)), text(u2(named + 1)), text(u2(named + 3))};
    }

    int addText(String text) throws IOException {
        Integer there = texts.get(text);
        if (there != null) {
            return there;
        }
        add.writeByte(UTF8);
        add.writeUTF(text);
        texts.put(text, next());
        return texts.get(text);
    }

    int addNumber(int number) throws IOException {
        Integer there = numbers.get(number);
        if (there != null) {
            return there;
        }
        add.writeByte(INTEGER);
        add.writeInt(number);
        numbers.put(number, next());
        return numbers.get(number);
    }

    int addMethod(String type, String name, String descriptor) throws IOException {
        String whole = type + "." + name + descriptor;
        Integer there = methods.get(whole);
        if (there != null) {
            return there;
        }
        int typed = addPair(CLASS, addText(type), -1);
        int named = addPair(NAME_AND_TYPE, addText(name), addText(descriptor));
        methods.put(whole, addPair(METHOD, typed, named));
        return methods.get(whole);
    }

    int addType(String name) throws IOException {
        return addPair(CLASS, addText(name), -1);
    }

    int addString(String text) throws IOException {
        return addPair(STRING, addText(text), -1);
    }

    private int addPair(int tag, int one, int two) throws IOException {
        add.writeByte(tag);
        add.writeShort(one);
        if (two >= 0) {
            add.writeShort(two);
        }
        return next();
    }

    private int next() {
        if (count >= MOST) {
            throw new Refused("it has too many constants");
        }
        return count++;
    }

    /** All of them, with their number before them. */
    void write(DataOutputStream out) throws IOException {
        out.writeShort(count);
        out.write(bytes.array(), 10, end - 10);
        added.writeTo(out);
    }
}
