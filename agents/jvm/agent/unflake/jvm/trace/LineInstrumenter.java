package unflake.jvm.trace;

import java.io.IOException;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.ConstantPool;
import unflake.jvm.bytecode.MethodInfo;
import unflake.jvm.bytecode.UnsupportedCodeException;

/** Inserts a probe before each line of a class. */
final class LineInstrumenter implements ClassRewriter.MethodTransform {
    static final String PROBE_CLASS = "unflake/jvm/trace/TraceProbe";

    private final PlaceTable table;
    private final int probe;

    LineInstrumenter(ConstantPool pool, PlaceTable table) throws IOException {
        this.table = table;
        probe = pool.addMethod(PROBE_CLASS, "line", "(I)V");
    }

    @Override
    public byte[] transform(MethodInfo method, CodeAttribute code) throws IOException {
        String name = method.name();
        // Generated methods repeat lines of other code, except for the bodies of lambdas.
        if (method.isSynthetic() && !name.startsWith("lambda$")) {
            return null;
        }
        try {
            return new TracedMethod(code, table, name, method.descriptor()).instrument(probe, method.isStatic());
        } catch (UnsupportedCodeException reason) {
            table.addGap(name, reason.getMessage());
            return null;
        }
    }
}
