package unflake.jvm.bytecode;

import java.io.DataOutputStream;
import java.io.IOException;

/** Code appended to a method that handles all exceptions it does not catch itself. */
final class CatchAllBlock {
    private static final int FULL = 255;
    private static final int OBJECT = 7;

    final byte[] code;
    /**
     * Constants: the class of the method if the block needs {@code this}, otherwise 0; and {@code
     * Throwable}.
     */
    private final int self;
    private final int thrown;

    CatchAllBlock(byte[] code, int self, int thrown) {
        this.code = code;
        this.self = self;
        this.thrown = thrown;
    }

    /**
     * The stack map frame of its start: no local variables except {@code this}, the exception on
     * the stack.
     */
    void frame(int delta, DataOutputStream out) throws IOException {
        out.writeByte(FULL);
        out.writeShort(delta);
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
