package unflake.jvm.seeds;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.nio.ByteBuffer;
import java.security.ProtectionDomain;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.Instructions;
import unflake.jvm.bytecode.LoaderVisibility;
import unflake.jvm.bytecode.MethodInfo;

/**
 * Takes the clock out of classes of the JDK that mix it into random numbers, and makes test
 * frameworks report the start of a test.
 */
final class SeedInstrumenter implements ClassFileTransformer {
    /** Internal names of the classes of the JDK. */
    static final String[] DRAWING_CLASSES = {"java/util/Random", "sun/security/provider/NativePRNG$RandomIO"};
    /** Classes, and their methods that are called with a test when it starts. */
    private static final String[][] START_METHODS = {
        {"org/junit/platform/launcher/core/ExecutionListenerAdapter", "executionStarted"},
        {"org/junit/runner/notification/RunNotifier", "fireTestStarted"},
        {"junit/framework/TestResult", "startTest"},
        {"org/testng/internal/TestListenerHelper", "runTestListeners"},
    };
    private static final byte LCONST_0 = 0x09;
    private static final byte NOP = 0;
    private static final byte ALOAD_0 = 0x2a;
    private static final byte ALOAD_1 = 0x2b;

    private final LoaderVisibility visibility = new LoaderVisibility(RandomSeeds.class);

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        try {
            for (String drawing : DRAWING_CLASSES) {
                if (loader == null && drawing.equals(name)) {
                    return withoutClock(bytes.clone());
                }
            }
            for (String[] start : START_METHODS) {
                if (start[0].equals(name) && visibility.canSee(loader)) {
                    return reporting(bytes, start[1]);
                }
            }
        } catch (Throwable error) {
            // The class stays unchanged, and draws as it would without a seed.
            return null;
        }
        return null;
    }

    /** Where the clock is read, a zero is. */
    private static byte[] withoutClock(byte[] bytes) throws IOException {
        return new ClassRewriter(bytes).rewrite((method, code) -> {
            boolean isMethod = !method.name().startsWith("<") || method.descriptor().equals("()V");
            for (int pc = 0; isMethod && pc < code.layout.length; pc = code.layout.next(pc)) {
                if (code.layout.opcode(pc) == Instructions.INVOKE_STATIC && isClock(code.pool().member(code.layout.u2(pc + 1)))) {
                    code.layout.overwrite(pc, LCONST_0, NOP, NOP);
                }
            }
            return null;
        });
    }

    private static boolean isClock(String[] member) {
        return member[0].equals("java/lang/System") && (member[1].equals("nanoTime") || member[1].equals("currentTimeMillis"));
    }

    private static byte[] reporting(byte[] bytes, String name) throws IOException {
        ClassRewriter rewriter = new ClassRewriter(bytes);
        return rewriter.rewrite((method, code) -> method.name().equals(name) ? reporting(method, code) : null);
    }

    private static byte[] reporting(MethodInfo method, CodeAttribute code) throws IOException {
        int call = code.pool().addMethod("unflake/jvm/seeds/RandomSeeds", "testStarted", "(Ljava/lang/Object;)V");
        ByteBuffer entry = ByteBuffer.allocate(4).put(method.isStatic() ? ALOAD_0 : ALOAD_1);
        code.layout.insertBefore(0, entry.put((byte) Instructions.INVOKE_STATIC).putShort((short) call).array());
        return code.write(1);
    }
}
