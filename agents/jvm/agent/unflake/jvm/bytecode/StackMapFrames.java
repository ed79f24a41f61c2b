package unflake.jvm.bytecode;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Relocates a {@code StackMapTable}, which tells the verifier the types at jump targets. */
final class StackMapFrames {
    private static final int UNINITIALIZED = 8;
    private static final int OBJECT = 7;

    private final ByteBuffer in;
    private final CodeLayout layout;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final DataOutputStream out = new DataOutputStream(bytes);
    private int offset;

    private StackMapFrames(ByteBuffer in, int offset, CodeLayout layout) {
        this.in = in;
        this.offset = offset;
        this.layout = layout;
    }

    /** Relocates the table at this offset. */
    static byte[] relocate(ByteBuffer in, int offset, CodeLayout layout, CatchAllBlock block) throws IOException {
        StackMapFrames frames = new StackMapFrames(in, offset, layout);
        frames.relocateAll(block);
        return frames.bytes.toByteArray();
    }

    private void relocateAll(CatchAllBlock block) throws IOException {
        int count = u2();
        out.writeShort(block == null ? count : count + 1);
        int oldOffset = -1;
        int newOffset = -1;
        for (int index = 0; index < count; index++) {
            int kind = in.get(offset++) & 0xff;
            boolean isShort = kind < 128;
            oldOffset += 1 + (isShort ? kind & 63 : u2());
            int next = layout.newTarget(oldOffset);
            frame(kind, next - newOffset - 1);
            newOffset = next;
        }
        if (block != null) {
            block.frame(layout.newTarget(layout.length) - newOffset - 1, out);
        }
    }

    private void frame(int kind, int delta) throws IOException {
        if (kind < 64 || kind == 251) {
            header(delta < 64 ? delta : 251, 251, delta);
        } else if (kind < 128 || kind == 247) {
            header(delta < 64 ? 64 + delta : 247, 247, delta);
            type();
        } else if (kind >= 248 && kind < 255) {
            header(kind, kind, delta);
            types(Math.max(0, kind - 251));
        } else if (kind == 255) {
            header(kind, kind, delta);
            for (int part = 0; part < 2; part++) {
                int count = u2();
                out.writeShort(count);
                types(count);
            }
        } else {
            throw new UnsupportedCodeException("it has an unknown stack map frame: " + kind);
        }
    }

    private void header(int kind, int explicitKind, int delta) throws IOException {
        out.writeByte(kind);
        if (kind == explicitKind) {
            out.writeShort(delta);
        }
    }

    private void types(int count) throws IOException {
        for (int index = 0; index < count; index++) {
            type();
        }
    }

    private void type() throws IOException {
        int tag = in.get(offset++);
        out.writeByte(tag);
        if (tag == OBJECT) {
            out.writeShort(u2());
        } else if (tag == UNINITIALIZED) {
            // Identified by the new instruction itself, not by code inserted before it.
            out.writeShort(layout.newPosition(u2()));
        }
    }

    private int u2() {
        offset += 2;
        return in.getShort(offset - 2) & 0xffff;
    }
}
