package unflake.jvm.seeds;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.ConstantPool;
import unflake.jvm.bytecode.Instructions;
import unflake.jvm.bytecode.MethodInfo;

/** Makes collections and reflection of the JDK return their elements in another order. */
final class OrderInstrumenter implements ClassFileTransformer {
    /** Classes, and their methods that iterate over buckets. {@code LinkedHashMap} has others. */
    private static final String[][] ITERATING = {
        {"java/util/HashMap", "forEach", "replaceAll", "keysToArray", "valuesToArray", "internalWriteEntries"},
        {"java/util/HashMap$KeySet", "forEach"},
        {"java/util/HashMap$Values", "forEach"},
        {"java/util/HashMap$EntrySet", "forEach"},
        {"java/util/HashMap$HashIterator", "<init>", "nextNode"},
        {"java/util/HashMap$KeySpliterator", "tryAdvance", "forEachRemaining"},
        {"java/util/HashMap$ValueSpliterator", "tryAdvance", "forEachRemaining"},
        {"java/util/HashMap$EntrySpliterator", "tryAdvance", "forEachRemaining"},
        {"java/util/concurrent/ConcurrentHashMap$Traverser", "advance"},
    };
    private static final String[] REFLECTING = {"java/lang/Class", "getFields", "getDeclaredFields", "getMethods", "getDeclaredMethods",
        "getConstructors", "getDeclaredConstructors", "getClasses", "getDeclaredClasses"};

    private static final int AALOAD = 0x32;
    private static final int ARETURN = 0xb0;
    /** Two numbers above the array and the index. */
    private static final int EXTRA_STACK_OF_INDEX = 2;
    /** The array again, a list, a generator twice, and a long. */
    private static final int EXTRA_STACK_OF_RESULT = 6;

    private final UnspecifiedOrder ofCollections;
    private final UnspecifiedOrder ofMembers;
    private volatile Throwable failure;

    /** Null: that order stays. */
    OrderInstrumenter(UnspecifiedOrder ofCollections, UnspecifiedOrder ofMembers) {
        this.ofCollections = ofCollections;
        this.ofMembers = ofMembers;
    }

    /** Internal names of the classes to change. */
    List<String> classes() {
        List<String> names = new ArrayList<>();
        for (String[] iterating : ofCollections == null ? new String[0][] : ITERATING) {
            names.add(iterating[0]);
        }
        if (ofMembers != null) {
            names.add(REFLECTING[0]);
        }
        return names;
    }

    /** Throws what kept a class from being changed. */
    void check() {
        if (failure != null) {
            throw new IllegalStateException("a class of the JDK keeps its order", failure);
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        try {
            for (String[] iterating : ITERATING) {
                if (ofCollections != null && loader == null && iterating[0].equals(name)) {
                    return rewrite(bytes, iterating, this::withOtherBuckets);
                }
            }
            if (ofMembers != null && loader == null && REFLECTING[0].equals(name)) {
                return rewrite(bytes, REFLECTING, this::withOtherResult);
            }
        } catch (Throwable error) {
            failure = error;
        }
        return null;
    }

    private static byte[] rewrite(byte[] bytes, String[] wanted, ClassRewriter.MethodTransform change) throws IOException {
        List<String> methods = Arrays.asList(wanted).subList(1, wanted.length);
        return new ClassRewriter(bytes).rewrite((method, code) -> methods.contains(method.name()) ? change.transform(method, code) : null);
    }

    /** Every index of a bucket becomes another one of the same table. */
    private byte[] withOtherBuckets(MethodInfo method, CodeAttribute code) throws IOException {
        boolean isChanged = false;
        for (int pc = 0; pc < code.layout.length; pc = code.layout.next(pc)) {
            if (readsBucket(code, pc)) {
                code.layout.insertBefore(pc, otherIndex(code.pool()));
                isChanged = true;
            }
        }
        return isChanged ? code.write(EXTRA_STACK_OF_INDEX) : null;
    }

    private static boolean readsBucket(CodeAttribute code, int pc) {
        int opcode = code.layout.opcode(pc);
        return opcode == AALOAD || opcode == Instructions.INVOKE_STATIC && code.pool().member(code.layout.u2(pc + 1))[1].equals("tabAt");
    }

    /** With a table and an index on the stack: {@code index * factor + offset & table.length - 1}. */
    private byte[] otherIndex(ConstantPool pool) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(Instructions.LDC_W);
        out.writeShort(pool.addNumber(ofCollections.factor()));
        out.writeByte(0x68); // imul
        out.writeByte(Instructions.LDC_W);
        out.writeShort(pool.addNumber(ofCollections.offset()));
        out.writeByte(0x60); // iadd
        out.writeByte(0x5f); // swap
        out.writeByte(0x5a); // dup_x1
        out.writeByte(0xbe); // arraylength
        out.writeByte(0x04); // iconst_1
        out.writeByte(0x64); // isub
        out.writeByte(0x7e); // iand
        return bytes.toByteArray();
    }

    /** The array that is returned is a copy, so it is sorted in place. */
    private byte[] withOtherResult(MethodInfo method, CodeAttribute code) throws IOException {
        boolean isChanged = false;
        for (int pc = 0; pc < code.layout.length; pc = code.layout.next(pc)) {
            if (code.layout.opcode(pc) == ARETURN) {
                code.layout.insertBefore(pc, otherOrder(code.pool()));
                isChanged = true;
            }
        }
        return isChanged ? code.write(EXTRA_STACK_OF_RESULT) : null;
    }

    private byte[] otherOrder(ConstantPool pool) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeByte(0x59); // dup
        call(out, pool, "java/util/Arrays", "asList", "([Ljava/lang/Object;)Ljava/util/List;");
        if (ofMembers.isReversed()) {
            call(out, pool, "java/util/Collections", "reverse", "(Ljava/util/List;)V");
            return bytes.toByteArray();
        }
        out.writeByte(0xbb); // new
        out.writeShort(pool.addType("java/util/Random"));
        out.writeByte(0x59); // dup
        out.writeByte(Instructions.LDC_W);
        out.writeShort(pool.addNumber(ofMembers.seed()));
        out.writeByte(0x85); // i2l
        out.writeByte(0xb7); // invokespecial
        out.writeShort(pool.addMethod("java/util/Random", "<init>", "(J)V"));
        call(out, pool, "java/util/Collections", "shuffle", "(Ljava/util/List;Ljava/util/Random;)V");
        return bytes.toByteArray();
    }

    private static void call(DataOutputStream out, ConstantPool pool, String type, String name, String descriptor) throws IOException {
        out.writeByte(Instructions.INVOKE_STATIC);
        out.writeShort(pool.addMethod(type, name, descriptor));
    }
}
