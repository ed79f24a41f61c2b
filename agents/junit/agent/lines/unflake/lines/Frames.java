package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** What a verifier is told of a method ({@code StackMapTable}), at the new places of its instructions. */
final class Frames {
    private static final int UNINITIALISED = 8;
    private static final int OBJECT = 7;

    private final ByteBuffer in;
    private final Layout layout;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final DataOutputStream out = new DataOutputStream(bytes);
    private int at;

    private Frames(ByteBuffer in, int at, Layout layout) {
        this.in = in;
        this.at = at;
        this.layout = layout;
    }

    /** Of the table that begins here. */
    static byte[] moved(ByteBuffer in, int at, Layout layout, Tail tail) throws IOException {
        Frames frames = new Frames(in, at, layout);
        frames.move(tail);
        return frames.bytes.toByteArray();
    }

    private void move(Tail tail) throws IOException {
        int count = u2();
        out.writeShort(tail == null ? count : count + 1);
        int was = -1;
        int is = -1;
        for (int one = 0; one < count; one++) {
            int kind = in.get(at++) & 0xff;
            boolean isShort = kind < 128;
            was += 1 + (isShort ? kind & 63 : u2());
            int next = layout.reached(was);
            frame(kind, next - is - 1);
            is = next;
        }
        if (tail != null) {
            tail.frame(layout.reached(layout.length) - is - 1, out);
        }
    }

    private void frame(int kind, int distance) throws IOException {
        if (kind < 64 || kind == 251) {
            head(distance < 64 ? distance : 251, 251, distance);
        } else if (kind < 128 || kind == 247) {
            head(distance < 64 ? 64 + distance : 247, 247, distance);
            type();
        } else if (kind >= 248 && kind < 255) {
            head(kind, kind, distance);
            types(Math.max(0, kind - 251));
        } else if (kind == 255) {
            head(kind, kind, distance);
            for (int part = 0; part < 2; part++) {
                int count = u2();
                out.writeShort(count);
                types(count);
            }
        } else {
            throw new Refused("it has a frame of a kind that is not known here: " + kind);
        }
    }

    private void head(int kind, int withDistance, int distance) throws IOException {
        out.writeByte(kind);
        if (kind == withDistance) {
            out.writeShort(distance);
        }
    }

    private void types(int count) throws IOException {
        for (int one = 0; one < count; one++) {
            type();
        }
    }

    private void type() throws IOException {
        int tag = in.get(at++);
        out.writeByte(tag);
        if (tag == OBJECT) {
            out.writeShort(u2());
        } else if (tag == UNINITIALISED) {
            // Known by the instruction that makes it, not by what stands before that.
            out.writeShort(layout.itself(u2()));
        }
    }

    private int u2() {
        at += 2;
        return in.getShort(at - 2) & 0xffff;
    }
}
