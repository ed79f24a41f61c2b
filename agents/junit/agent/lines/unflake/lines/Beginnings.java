package unflake.lines;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Has methods of objects tell that they begin, and of which object. One that a jump leads to the beginning of tells it again: who is
 * told must not mind.
 */
public final class Beginnings implements Rewriter.Change {
    /** Which methods. */
    public interface Chosen {
        /** The static method that is told, with the object as its one argument; null: this one says nothing. */
        String told(Head method);
    }

    private static final int ITSELF = 0x2a;
    /** The object. */
    private static final int ROOM = 1;

    private final Pool pool;
    private final Chosen chosen;
    private final String type;
    private boolean isChanged;

    private Beginnings(Pool pool, Chosen chosen, String type) {
        this.pool = pool;
        this.chosen = chosen;
        this.type = type;
    }

    /** The class anew, or null where no method of it was chosen. {@code told}: the class that is told, with slashes. */
    public static byte[] rewritten(byte[] type, Chosen chosen, String told) throws IOException {
        Rewriter rewriter = new Rewriter(type);
        Beginnings beginnings = new Beginnings(rewriter.pool, chosen, told);
        byte[] changed = rewriter.rewritten(beginnings);
        return beginnings.isChanged ? changed : null;
    }

    @Override
    public byte[] code(Head method, Code code) throws IOException {
        String told = method.isStatic() || !method.isWritten() ? null : chosen.told(method);
        if (told == null) {
            return null;
        }
        int call = pool.addMethod(type, told, "(Ljava/lang/Object;)V");
        ByteBuffer tell = ByteBuffer.allocate(4).put((byte) ITSELF);
        code.layout.putBefore(0, tell.put((byte) Instruction.INVOKE_STATIC).putShort((short) call).array());
        isChanged = true;
        return code.written(ROOM);
    }
}
