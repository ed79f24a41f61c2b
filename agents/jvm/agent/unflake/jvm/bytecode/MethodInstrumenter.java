package unflake.jvm.bytecode;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Instruments methods to call {@code entered} with their arguments, {@code returned} and {@code
 * threw} of a callback class.
 */
public final class MethodInstrumenter implements ClassRewriter.MethodTransform {
    /** Selects methods. */
    public interface Selector {
        /** The label that the callbacks receive; null leaves the method unchanged. */
        String label(MethodInfo method);
    }

    /**
     * Selects methods that ask the callback {@code threw} whether their exceptions count, and
     * return if that does not throw.
     */
    public interface CatchPolicy {
        boolean catches(String label);
    }

    /** The array twice, an index, and a long or double. */
    private static final int EXTRA_STACK = 5;

    private final ConstantPool pool;
    private final String className;
    private final Selector selector;
    private final CatchPolicy catchPolicy;
    private final int entered;
    private final int returned;
    private final int threw;
    /** Constants of the class itself and of {@code Throwable}. */
    private final int self;
    private final int thrown;
    private boolean isChanged;

    private MethodInstrumenter(ClassRewriter rewriter, Selector selector, CatchPolicy catchPolicy, String callback) throws IOException {
        pool = rewriter.pool;
        className = rewriter.className();
        this.selector = selector;
        this.catchPolicy = catchPolicy;
        entered = pool.addMethod(callback, "entered", "([Ljava/lang/Object;Ljava/lang/String;)V");
        returned = pool.addMethod(callback, "returned", "(Ljava/lang/String;)V");
        threw = pool.addMethod(callback, "threw", "(Ljava/lang/Throwable;Ljava/lang/String;)V");
        self = pool.addType(className);
        thrown = pool.addType("java/lang/Throwable");
    }

    /**
     * Returns the new class, or null if no method was selected. {@code callback}: internal name of
     * the class that is called.
     */
    public static byte[] instrument(byte[] type, Selector selector, CatchPolicy catchPolicy, String callback) throws IOException {
        ClassRewriter rewriter = new ClassRewriter(type);
        MethodInstrumenter instrumenter = new MethodInstrumenter(rewriter, selector, catchPolicy, callback);
        byte[] changed = rewriter.rewrite(instrumenter);
        return instrumenter.isChanged ? changed : null;
    }

    @Override
    public byte[] transform(MethodInfo method, CodeAttribute code) throws IOException {
        String label = method.isDeclaredInSource() ? selector.label(method) : null;
        // A jump to the first instruction would report another entry.
        if (label == null || code.layout.isJumpTarget(0)) {
            return null;
        }
        int text = pool.addString(label);
        code.layout.insertBefore(0, entered(method.descriptor(), method.isStatic(), text));
        for (int pc = 0; pc < code.layout.length; pc = code.layout.next(pc)) {
            if (Instructions.isReturn(code.layout.opcode(pc))) {
                code.layout.insertBefore(pc, call(text, returned));
            }
        }
        isChanged = true;
        return code.write(EXTRA_STACK, catchPolicy.catches(label) ? catchAllBlock(method, text, code.layout) : null);
    }

    /**
     * Catches everything and asks the callback. If it returns, the method returns nothing or its
     * own object; methods that return anything else have no such block.
     */
    private CatchAllBlock catchAllBlock(MethodInfo method, int text, CodeLayout layout) {
        String descriptor = method.descriptor();
        boolean isVoid = descriptor.endsWith(")V");
        boolean isFluent = !method.isStatic() && descriptor.endsWith(")L" + className + ";") && !overwritesThis(layout);
        if (!isVoid && !isFluent) {
            return null;
        }
        byte[] call = call(text, threw);
        byte[] exit = isVoid ? new byte[] {(byte) 0xb1} : new byte[] {0x2a, (byte) 0xb0};
        ByteBuffer code = ByteBuffer.allocate(call.length + exit.length).put(call).put(exit);
        return new CatchAllBlock(code.array(), isVoid ? 0 : self, thrown);
    }

    /** Whether local variable 0 is overwritten. No compiler is known to do so. */
    private static boolean overwritesThis(CodeLayout layout) {
        for (int pc = 0; pc < layout.length; pc = layout.next(pc)) {
            if (layout.assignedSlot(pc) == 0) {
                return true;
            }
        }
        return false;
    }

    private static byte[] call(int text, int method) {
        ByteBuffer code = ByteBuffer.allocate(6).put((byte) Instructions.LDC_W).putShort((short) text);
        return code.put((byte) Instructions.INVOKE_STATIC).putShort((short) method).array();
    }

    /** An array of all arguments, starting with {@code this} in instance methods. */
    private byte[] entered(String descriptor, boolean isStatic, int text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        String kinds = (isStatic ? "" : "A") + MethodDescriptor.parameterKinds(descriptor);
        out.writeByte(Instructions.SIPUSH);
        out.writeShort(kinds.length());
        out.writeByte(0xbd); // anewarray
        out.writeShort(pool.addType("java/lang/Object"));
        int slot = 0;
        for (int index = 0; index < kinds.length(); index++) {
            char kind = kinds.charAt(index);
            out.writeByte(0x59); // dup
            out.writeByte(Instructions.SIPUSH);
            out.writeShort(index);
            out.writeByte(Instructions.WIDE);
            out.writeByte(Instructions.load(kind));
            out.writeShort(slot);
            box(kind, out);
            out.writeByte(0x53); // aastore
            slot += kind == 'J' || kind == 'D' ? 2 : 1;
        }
        out.write(call(text, entered));
        return bytes.toByteArray();
    }

    private void box(char kind, DataOutputStream out) throws IOException {
        String[] types = {"Z", "Boolean", "B", "Byte", "C", "Character", "S", "Short", "I", "Integer", "J", "Long", "F", "Float", "D", "Double"};
        for (int index = 0; index < types.length; index += 2) {
            if (types[index].charAt(0) == kind) {
                String boxed = "java/lang/" + types[index + 1];
                out.writeByte(Instructions.INVOKE_STATIC);
                out.writeShort(pool.addMethod(boxed, "valueOf", "(" + kind + ")L" + boxed + ";"));
            }
        }
    }
}
