package unflake.jvm.bytecode;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.ByteBuffer;
import java.security.ProtectionDomain;

/** Entry point of {@code -javaagent:faults.jar=CLASS#METHOD}: makes one method of the agent throw. */
public final class FaultInjector implements ClassFileTransformer {
    private final String type;
    private final String method;

    private FaultInjector(String type, String method) {
        this.type = type.replace('.', '/');
        this.method = method;
    }

    public static void premain(String site, Instrumentation jvm) {
        jvm.addTransformer(new FaultInjector(site.substring(0, site.indexOf('#')), site.substring(site.indexOf('#') + 1)));
    }

    /** Called by that method. */
    public static void fail() {
        throw new IllegalStateException("an injected fault");
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (!type.equals(name)) {
            return null;
        }
        try {
            ClassRewriter rewriter = new ClassRewriter(bytes);
            int call = rewriter.pool.addMethod("unflake/jvm/bytecode/FaultInjector", "fail", "()V");
            return rewriter.rewrite((info, code) -> info.name().equals(method) ? failing(code, call) : null);
        } catch (Throwable error) {
            error.printStackTrace();
            return null;
        }
    }

    private static byte[] failing(CodeAttribute code, int call) throws java.io.IOException {
        ByteBuffer entry = ByteBuffer.allocate(3).put((byte) Instructions.INVOKE_STATIC).putShort((short) call);
        code.layout.insertBefore(0, entry.array());
        return code.write(1);
    }
}
