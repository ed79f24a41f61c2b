package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Puts probes into the methods of a class. Everything else of it stays as it is, byte for byte. */
final class Rewriter {
    private static final int STATIC = 0x8;
    private static final int SYNTHETIC = 0x1000;
    static final String PROBE = "unflake/lines/Probe";

    private final ByteBuffer in;
    private final Pool pool;
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

    /** The class with probes. */
    byte[] probed(Places places) throws IOException {
        int probe = pool.addMethod(PROBE, "hit", "(I)V");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(in.capacity() * 3 / 2);
        DataOutputStream out = new DataOutputStream(bytes);
        int at = methods + 2;
        for (int left = u2(methods); left > 0; left--) {
            at = method(at, probe, places, out);
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
    private int method(int start, int probe, Places places, DataOutputStream out) throws IOException {
        out.write(in.array(), start, 8);
        String name = pool.text(u2(start + 2));
        // What the compiler has made up has lines that nobody wrote there; but for the bodies of lambdas.
        boolean isWritten = (u2(start) & SYNTHETIC) == 0 || name.startsWith("lambda$");
        int at = start + 8;
        for (int left = u2(start + 6); left > 0; left--) {
            int length = 6 + in.getInt(at + 2);
            byte[] probed = isWritten && pool.text(u2(at)).equals("Code") ? code(start, at, probe, places) : null;
            if (probed != null) {
                out.write(probed);
            } else {
                out.write(in.array(), at, length);
            }
            at += length;
        }
        return at;
    }

    /** Of the method that begins at {@code start}. */
    private byte[] code(int start, int at, int probe, Places places) throws IOException {
        String name = pool.text(u2(start + 2));
        try {
            return new Method(in, at, pool, places, name, pool.text(u2(start + 4))).probed(probe, (u2(start) & STATIC) != 0);
        } catch (Refused why) {
            places.unknown(name, why.getMessage());
            return null;
        }
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
