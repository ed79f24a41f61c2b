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
    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private final String mark;

    Wire(String mark) {
        this.mark = mark;
    }

    synchronized void say(Message message) {
        byte[] line = ("\n" + mark + message + mark + "\n").getBytes(StandardCharsets.US_ASCII);
        try {
            out.write(line);
        } catch (IOException gone) {
            // Nobody listens any more.
            Runtime.getRuntime().halt(3);
        }
    }
}
