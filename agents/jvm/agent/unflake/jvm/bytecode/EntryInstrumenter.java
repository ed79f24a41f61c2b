package unflake.jvm.bytecode;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Instruments instance methods to call a static method with their object when they start. A method
 * with a jump to its first instruction calls it again.
 */
public final class EntryInstrumenter implements ClassRewriter.MethodTransform {
    /** Selects methods. */
    public interface Selector {
        /**
         * The static method to call with the object as its argument; null leaves the method
         * unchanged.
         */
        String callback(MethodInfo method) throws IOException;
    }

    private static final int ALOAD_0 = 0x2a;
    private static final int EXTRA_STACK = 1;

    private final ConstantPool pool;
    private final Selector selector;
    private final String callbackClass;
    private boolean isChanged;

    private EntryInstrumenter(ConstantPool pool, Selector selector, String callbackClass) {
        this.pool = pool;
        this.selector = selector;
        this.callbackClass = callbackClass;
    }

    /**
     * Returns the new class, or null if no method was selected. {@code callback}: internal name of
     * the class that is called.
     */
    public static byte[] instrument(byte[] type, Selector selector, String callback) throws IOException {
        ClassRewriter rewriter = new ClassRewriter(type);
        EntryInstrumenter instrumenter = new EntryInstrumenter(rewriter.pool, selector, callback);
        byte[] changed = rewriter.rewrite(instrumenter);
        return instrumenter.isChanged ? changed : null;
    }

    @Override
    public byte[] transform(MethodInfo method, CodeAttribute code) throws IOException {
        String callback = method.isStatic() || !method.isDeclaredInSource() ? null : selector.callback(method);
        if (callback == null) {
            return null;
        }
        int call = pool.addMethod(callbackClass, callback, "(Ljava/lang/Object;)V");
        ByteBuffer entry = ByteBuffer.allocate(4).put((byte) ALOAD_0);
        code.layout.insertBefore(0, entry.put((byte) Instructions.INVOKE_STATIC).putShort((short) call).array());
        isChanged = true;
        return code.write(EXTRA_STACK);
    }
}
