package unflake.jvm.bytecode;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Rewrites the code of methods. The rest of the class stays as it is, byte for byte. */
public final class ClassRewriter extends ClassFileReader {
    /** Transforms the code of one method. */
    public interface MethodTransform {
        /** Returns the new code attribute; null leaves the method unchanged. */
        byte[] transform(MethodInfo method, CodeAttribute code) throws IOException;
    }

    private final int methods;
    private final int attributes;

    public ClassRewriter(byte[] type) {
        super(ByteBuffer.wrap(type), poolOf(type));
        methods = endOfMembers(pool.end + 8 + 2 * u2(pool.end + 6));
        attributes = endOfMembers(methods);
    }

    private static ConstantPool poolOf(byte[] type) {
        ByteBuffer in = ByteBuffer.wrap(type);
        if (in.getInt(0) != 0xcafebabe) {
            throw new UnsupportedCodeException("it is no class");
        }
        return new ConstantPool(in);
    }

    public ConstantPool pool() {
        return pool;
    }

    /** The internal name, with slashes. */
    public String className() {
        return pool.type(u2(pool.end + 2));
    }

    /** The name of the source file; null if it is not recorded. */
    public String sourceFile() throws IOException {
        String[] source = new String[1];
        attributes(attributes, (name, offset, length) -> {
            if (name.equals("SourceFile")) {
                source[0] = pool.text(u2(offset + 6));
            }
        });
        return source[0];
    }

    public byte[] rewrite(MethodTransform transform) throws IOException {
        ByteArrayOutputStream rewritten = new ByteArrayOutputStream(in.capacity() * 3 / 2);
        DataOutputStream out = new DataOutputStream(rewritten);
        int offset = methods + 2;
        for (int left = u2(methods); left > 0; left--) {
            offset = method(offset, transform, out);
        }
        ByteArrayOutputStream whole = new ByteArrayOutputStream(rewritten.size() + in.capacity());
        DataOutputStream all = new DataOutputStream(whole);
        all.write(in.array(), 0, 8);
        pool.write(all);
        all.write(in.array(), pool.end, methods + 2 - pool.end);
        rewritten.writeTo(all);
        all.write(in.array(), attributes, in.capacity() - attributes);
        return whole.toByteArray();
    }

    /** Writes one method, and returns the offset of the next. */
    private int method(int start, MethodTransform transform, DataOutputStream out) throws IOException {
        out.write(in.array(), start, 8);
        MethodInfo method = new MethodInfo(in, start, pool);
        return attributes(start + 6, (name, offset, length) -> {
            boolean isCode = name.equals("Code");
            byte[] changed = isCode ? transform.transform(method, new CodeAttribute(in, offset, pool)) : null;
            if (changed != null) {
                out.write(changed);
            } else {
                out.write(in.array(), offset, length);
            }
        });
    }

    private int endOfMembers(int table) {
        int offset = table + 2;
        for (int left = u2(table); left > 0; left--) {
            int count = u2(offset + 6);
            offset += 8;
            for (; count > 0; count--) {
                offset += 6 + in.getInt(offset + 2);
            }
        }
        return offset;
    }
}
