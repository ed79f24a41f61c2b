package unflake.lines;

import java.io.DataOutputStream;
import java.io.IOException;

/** What stands behind the code of a method, and what every exception leads to that the method does not catch itself. */
final class Tail {
    private static final int FULL = 255;
    private static final int OBJECT = 7;

    final byte[] code;
    /** The constants that are the class of the method, where its object is still needed, otherwise 0; and {@code Throwable}. */
    private final int self;
    private final int thrown;

    Tail(byte[] code, int self, int thrown) {
        this.code = code;
        this.self = self;
        this.thrown = thrown;
    }

    /** What a verifier is told of its beginning: nothing of variables, and an exception on the stack. */
    void frame(int distance, DataOutputStream out) throws IOException {
        out.writeByte(FULL);
        out.writeShort(distance);
        out.writeShort(self == 0 ? 0 : 1);
        if (self != 0) {
            type(self, out);
        }
        out.writeShort(1);
        type(thrown, out);
    }

    private static void type(int constant, DataOutputStream out) throws IOException {
        out.writeByte(OBJECT);
        out.writeShort(constant);
    }
}
