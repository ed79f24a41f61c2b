package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Changes the code of methods of a class. Everything else of it stays as it is, byte for byte. */
final class Rewriter {
    /** What becomes of the code of a method. */
    interface Change {
        /** The attribute anew; null: it stays as it is. */
        byte[] code(Head method, Code code) throws IOException;
    }

    private final ByteBuffer in;
    final Pool pool;
    private final int fields;
    private final int methods;
    private final int attributes;

    Rewriter(byte[] type) {
        in = ByteBuffer.wrap(type);
        if (in.getInt(0) != 0xcafebabe) {
            throw new Refused("it is no class");
        }
        pool = new Pool(in);
        fields = pool.end + 8 + 2 * u2(pool.end + 6);
        methods = afterMembers(fields);
        attributes = afterMembers(methods);
    }

    /** With slashes. */
    String name() {
        return pool.type(u2(pool.end + 2));
    }

    /** The name of the file that it was compiled from, if it says so. */
    String source() {
        int at = attributes + 2;
        for (int left = u2(attributes); left > 0; left--) {
            if (pool.text(u2(at)).equals("SourceFile")) {
                return pool.text(u2(at + 6));
            }
            at += 6 + in.getInt(at + 2);
        }
        return null;
    }

    byte[] rewritten(Change change) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(in.capacity() * 3 / 2);
        DataOutputStream out = new DataOutputStream(bytes);
        int at = methods + 2;
        for (int left = u2(methods); left > 0; left--) {
            at = method(at, change, out);
        }
        ByteArrayOutputStream whole = new ByteArrayOutputStream(bytes.size() + in.capacity());
        DataOutputStream all = new DataOutputStream(whole);
        all.write(in.array(), 0, 8);
        pool.write(all);
        all.write(in.array(), pool.end, methods + 2 - pool.end);
        bytes.writeTo(all);
        all.write(in.array(), attributes, in.capacity() - attributes);
        return whole.toByteArray();
    }

    /** Writes one method, and says where the next begins. */
    private int method(int start, Change change, DataOutputStream out) throws IOException {
        out.write(in.array(), start, 8);
        Head head = new Head(in, start, pool);
        int at = start + 8;
        for (int left = u2(start + 6); left > 0; left--) {
            int length = 6 + in.getInt(at + 2);
            boolean isCode = pool.text(u2(at)).equals("Code");
            byte[] changed = isCode ? change.code(head, new Code(in, at, pool)) : null;
            if (changed != null) {
                out.write(changed);
            } else {
                out.write(in.array(), at, length);
            }
            at += length;
        }
        return at;
    }

    private int afterMembers(int start) {
        int at = start + 2;
        for (int left = u2(start); left > 0; left--) {
            int attributes = u2(at + 6);
            at += 8;
            for (; attributes > 0; attributes--) {
                at += 6 + in.getInt(at + 2);
            }
        }
        return at;
    }

    private int u2(int at) {
        return in.getShort(at) & 0xffff;
    }
}
