package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Has methods of a class say what they are given when they begin, that they have come to their end, and what they throw. */
public final class Around implements Rewriter.Change {
    /** Which methods. */
    public interface Chosen {
        /** What they are to be called by those whom they tell; null: this one says nothing. */
        String name(Head method);
    }

    /** Which of them ask whether what they throw counts, and come to their end where it does not. */
    public interface Catching {
        /** {@code name}: as it was chosen. */
        boolean catches(String name);
    }

    /** An array twice, a place in it, and a long or double. */
    private static final int ROOM = 5;

    private final Pool pool;
    private final String type;
    private final Chosen chosen;
    private final Catching catching;
    private final int begin;
    private final int end;
    private final int failed;
    /** The class itself, and {@code Throwable}. */
    private final int self;
    private final int thrown;
    private boolean isChanged;

    private Around(Rewriter rewriter, Chosen chosen, Catching catching, String told) throws IOException {
        pool = rewriter.pool;
        type = rewriter.name();
        this.chosen = chosen;
        this.catching = catching;
        begin = pool.addMethod(told, "begin", "([Ljava/lang/Object;Ljava/lang/String;)V");
        end = pool.addMethod(told, "held", "(Ljava/lang/String;)V");
        failed = pool.addMethod(told, "failed", "(Ljava/lang/Throwable;Ljava/lang/String;)V");
        self = pool.addType(type);
        thrown = pool.addType("java/lang/Throwable");
    }

    /** The class anew, or null where no method of it was chosen. {@code told}: the class that is told, with slashes. */
    public static byte[] rewritten(byte[] type, Chosen chosen, Catching catching, String told) throws IOException {
        Rewriter rewriter = new Rewriter(type);
        Around around = new Around(rewriter, chosen, catching, told);
        byte[] changed = rewriter.rewritten(around);
        return around.isChanged ? changed : null;
    }

    @Override
    public byte[] code(Head method, Code code) throws IOException {
        String said = method.isWritten() ? chosen.name(method) : null;
        // One that may come again to where it begins would begin twice.
        if (said == null || code.layout.isReached(0)) {
            return null;
        }
        int text = pool.addString(said);
        for (int pc = 0; pc < code.layout.length; pc = code.layout.next(pc)) {
            int operation = code.layout.operation(pc);
            if (pc == 0) {
                code.layout.putBefore(0, begin(method.descriptor(), method.isStatic(), text));
            }
            if (operation >= 0xac && operation <= 0xb1) {
                code.layout.putBefore(pc, call(text, end));
            }
        }
        isChanged = true;
        return code.written(ROOM, catching.catches(said) ? tail(method, text, code.layout) : null);
    }

    /** Has it asked whether an exception counts. If not, it gives back nothing, or its object; what gives back anything else has none. */
    private Tail tail(Head method, int text, Layout layout) {
        String descriptor = method.descriptor();
        boolean isVoid = descriptor.endsWith(")V");
        boolean isFluent = !method.isStatic() && descriptor.endsWith(")L" + type + ";") && !replacesItself(layout);
        if (!isVoid && !isFluent) {
            return null;
        }
        byte[] ask = call(text, failed);
        byte[] leave = isVoid ? new byte[] {(byte) 0xb1} : new byte[] {0x2a, (byte) 0xb0};
        ByteBuffer code = ByteBuffer.allocate(ask.length + leave.length).put(ask).put(leave);
        return new Tail(code.array(), isVoid ? 0 : self, thrown);
    }

    /** Whether anything is put where a method has its object. No compiler is known that does so. */
    private static boolean replacesItself(Layout layout) {
        for (int pc = 0; pc < layout.length; pc = layout.next(pc)) {
            int operation = layout.operation(pc);
            boolean isWide = operation == 0xc4;
            int store = isWide ? layout.operation(pc + 1) : operation;
            boolean isNumbered = store >= 0x36 && store <= 0x3a;
            boolean isFirst = !isWide && store >= 0x3b && store <= 0x4e && (store - 0x3b) % 4 == 0;
            if (isFirst || isNumbered && (isWide ? layout.u2(pc + 2) : layout.operation(pc + 1)) == 0) {
                return true;
            }
        }
        return false;
    }

    private static byte[] call(int text, int method) {
        ByteBuffer code = ByteBuffer.allocate(6).put((byte) Instruction.LDC_W).putShort((short) text);
        return code.put((byte) Instruction.INVOKE_STATIC).putShort((short) method).array();
    }

    /** An array of everything that it is given, itself first where it is a method of an object. */
    private byte[] begin(String descriptor, boolean isStatic, int text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        String kinds = (isStatic ? "" : "A") + kinds(descriptor);
        out.writeByte(Instruction.SIPUSH);
        out.writeShort(kinds.length());
        out.writeByte(0xbd); // A new array of objects.
        out.writeShort(pool.addType("java/lang/Object"));
        int slot = 0;
        for (int at = 0; at < kinds.length(); at++) {
            char kind = kinds.charAt(at);
            out.writeByte(0x59); // The array once more.
            out.writeByte(Instruction.SIPUSH);
            out.writeShort(at);
            out.writeByte(0xc4); // With a wide number, whatever it is.
            out.writeByte(load(kind));
            out.writeShort(slot);
            box(kind, out);
            out.writeByte(0x53); // Into the array.
            slot += kind == 'J' || kind == 'D' ? 2 : 1;
        }
        out.write(call(text, begin));
        return bytes.toByteArray();
    }

    private static int load(char kind) {
        switch (kind) {
            case 'J':
                return 0x16;
            case 'F':
                return 0x17;
            case 'D':
                return 0x18;
            case 'A':
                return 0x19;
            default:
                return 0x15;
        }
    }

    private void box(char kind, DataOutputStream out) throws IOException {
        String[] types = {"Z", "Boolean", "B", "Byte", "C", "Character", "S", "Short", "I", "Integer", "J", "Long", "F", "Float", "D", "Double"};
        for (int at = 0; at < types.length; at += 2) {
            if (types[at].charAt(0) == kind) {
                String type = "java/lang/" + types[at + 1];
                out.writeByte(Instruction.INVOKE_STATIC);
                out.writeShort(pool.addMethod(type, "valueOf", "(" + kind + ")L" + type + ";"));
            }
        }
    }

    /** Of parameters: {@code A} for a reference, otherwise the letter of the type. */
    private static String kinds(String descriptor) {
        StringBuilder kinds = new StringBuilder();
        for (int at = 1; descriptor.charAt(at) != ')'; at++) {
            char kind = descriptor.charAt(at);
            while (descriptor.charAt(at) == '[') {
                at++;
            }
            if (descriptor.charAt(at) == 'L') {
                at = descriptor.indexOf(';', at);
            }
            kinds.append(kind == '[' || kind == 'L' ? 'A' : kind);
        }
        return kinds.toString();
    }
}
