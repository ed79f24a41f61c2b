package unflake.jvm.protocol;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The channel to the driver: the process's own standard output, where each message stands between
 * two markers. Output of tests goes elsewhere, but native code and child processes may write to the
 * same stream.
 */
public final class DriverOutput {
    private static final int BUFFER_LIMIT = 16 << 10;

    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private final String marker;
    private final StringBuilder buffered = new StringBuilder();

    public DriverOutput(String marker) {
        this.marker = marker;
    }

    /** Sends the message together with everything that is buffered. */
    public synchronized void send(JsonObject message) {
        buffer(message);
        flush();
    }

    /** Sends the message with the next one: each write wakes the driver up. */
    public synchronized void buffer(JsonObject message) {
        buffered.append('\n').append(marker).append(message).append(marker).append('\n');
        if (buffered.length() > BUFFER_LIMIT) {
            flush();
        }
    }

    private void flush() {
        byte[] bytes = buffered.toString().getBytes(StandardCharsets.ISO_8859_1);
        buffered.setLength(0);
        try {
            out.write(bytes);
        } catch (IOException gone) {
            // The driver is gone.
            Runtime.getRuntime().halt(3);
        }
    }
}
