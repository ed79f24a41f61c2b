package unflake.junit;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * What is said to the driver goes to the process's own standard output, between marks that nobody else knows: tests print
 * elsewhere ({@link Outputs}), but native code and other processes may write there too.
 */
final class Wire {
    private static final int MUCH = 16 << 10;

    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private final String mark;
    private final StringBuilder gathered = new StringBuilder();

    Wire(String mark) {
        this.mark = mark;
    }

    /** Says it, and what was to be said with it. */
    synchronized void say(Message message) {
        add(message);
        write();
    }

    /** To be said with what comes next, since somebody wakes up for each writing. */
    synchronized void add(Message message) {
        gathered.append('\n').append(mark).append(message).append(mark).append('\n');
        if (gathered.length() > MUCH) {
            write();
        }
    }

    private void write() {
        byte[] bytes = gathered.toString().getBytes(StandardCharsets.ISO_8859_1);
        gathered.setLength(0);
        try {
            out.write(bytes);
        } catch (IOException gone) {
            // Nobody listens any more.
            Runtime.getRuntime().halt(3);
        }
    }
}
