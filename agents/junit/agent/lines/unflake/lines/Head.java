package unflake.lines;

import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.Set;

/** What a class says of one of its methods beside the code. */
public final class Head {
    private static final int PUBLIC = 0x0001;
    private static final int STATIC = 0x0008;
    private static final int BRIDGE = 0x0040;
    private static final int SYNTHETIC = 0x1000;

    private final int access;
    private final ByteBuffer in;
    private final Pool pool;
    private final int start;

    Head(ByteBuffer in, int start, Pool pool) {
        this.in = in;
        this.pool = pool;
        this.start = start;
        access = u2(start);
    }

    public String name() {
        return pool.text(u2(start + 2));
    }

    public String descriptor() {
        return pool.text(u2(start + 4));
    }

    public boolean isStatic() {
        return (access & STATIC) != 0;
    }

    public boolean isPublic() {
        return (access & PUBLIC) != 0;
    }

    /** Whether the compiler has made it up. */
    boolean isSynthetic() {
        return (access & SYNTHETIC) != 0;
    }

    /** Whether somebody wrote it: not made up by a compiler, for whatever reason. */
    boolean isWritten() {
        return (access & (BRIDGE | SYNTHETIC)) == 0;
    }

    /** The types of its annotations that can be seen when it runs, as descriptors. */
    public Set<String> annotations() {
        Set<String> types = new LinkedHashSet<>();
        int at = start + 8;
        for (int left = u2(start + 6); left > 0; left--) {
            if (pool.text(u2(at)).equals("RuntimeVisibleAnnotations")) {
                int one = at + 8;
                for (int more = u2(at + 6); more > 0; more--) {
                    types.add(pool.text(u2(one)));
                    one = afterAnnotation(one);
                }
            }
            at += 6 + in.getInt(at + 2);
        }
        return types;
    }

    private int afterAnnotation(int start) {
        int at = start + 4;
        for (int left = u2(start + 2); left > 0; left--) {
            at = afterValue(at + 2);
        }
        return at;
    }

    /** Behind a value of an annotation, which may be another, or many. */
    private int afterValue(int start) {
        switch (in.get(start)) {
            case 'e':
                return start + 5;
            case '@':
                return afterAnnotation(start + 1);
            case '[':
                int at = start + 3;
                for (int left = u2(start + 1); left > 0; left--) {
                    at = afterValue(at);
                }
                return at;
            default:
                return start + 3;
        }
    }

    private int u2(int at) {
        return in.getShort(at) & 0xffff;
    }
}
