package unflake.jvm.bytecode;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.TreeMap;

/** Calls with a number, which are inserted before the first instruction of a line. */
public final class LineProbes {
    /** How much deeper a probe makes the stack. */
    public static final int EXTRA_STACK = 1;

    private LineProbes() {
    }

    /** Lines by first instruction. */
    public static TreeMap<Integer, Integer> lines(CodeAttribute code) throws IOException {
        TreeMap<Integer, Integer> lines = new TreeMap<>();
        code.forEachRow("LineNumberTable", 2, row -> lines.put(row[0], row[1]));
        return lines;
    }

    /** {@code method}: the constant of a static method with an {@code int}. */
    public static byte[] call(ConstantPool pool, int number, int method) throws IOException {
        ByteBuffer call = ByteBuffer.allocate(6);
        if (number <= Short.MAX_VALUE) {
            call.put((byte) Instructions.SIPUSH).putShort((short) number);
        } else {
            call.put((byte) Instructions.LDC_W).putShort((short) pool.addNumber(number));
        }
        return call.put((byte) Instructions.INVOKE_STATIC).putShort((short) method).array();
    }
}
