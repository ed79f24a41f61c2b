package unflake.lines;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel.MapMode;

/**
 * A file that is written through memory, piece after piece: what was put there is there, however the process ends. No
 * descriptor stays open between two pieces.
 */
final class Sheet {
    static final int MOST = 1 << 20;
    private static final byte[] ZEROS = new byte[MOST];

    private final File file;
    private long end;

    Sheet(File file) {
        this.file = file;
    }

    /** The next piece. Its room is taken first: a full disk is to end the trace, and not the test. */
    ByteBuffer next(int size) throws IOException {
        // A thread that was interrupted may not map anything. It is to find itself interrupted afterwards, as before.
        boolean isInterrupted = Thread.interrupted();
        try {
            while (true) {
                try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
                    open.seek(end);
                    open.write(ZEROS, 0, size);
                    ByteBuffer piece = open.getChannel().map(MapMode.READ_WRITE, end, size);
                    end += size;
                    return piece.order(ByteOrder.LITTLE_ENDIAN);
                } catch (ClosedByInterruptException now) {
                    isInterrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
