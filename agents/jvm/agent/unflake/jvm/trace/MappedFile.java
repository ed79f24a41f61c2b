package unflake.jvm.trace;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel.MapMode;

/**
 * A file written through memory mappings, piece by piece: its contents survive a crash of the
 * process. No descriptor stays open between pieces.
 */
final class MappedFile {
    static final int MAX_PIECE = 1 << 20;
    private static final byte[] ZEROS = new byte[MAX_PIECE];

    private final File file;
    private long end;

    MappedFile(File file) {
        this.file = file;
    }

    /**
     * Maps the next piece. Zeros are written first, so that a full disk ends the trace and not the
     * test.
     */
    ByteBuffer append(int size) throws IOException {
        // An interrupted thread cannot map files; its interrupt status is restored afterwards.
        boolean isInterrupted = Thread.interrupted();
        try {
            while (true) {
                try (RandomAccessFile access = new RandomAccessFile(file, "rw")) {
                    access.seek(end);
                    access.write(ZEROS, 0, size);
                    ByteBuffer piece = access.getChannel().map(MapMode.READ_WRITE, end, size);
                    end += size;
                    return piece.order(ByteOrder.LITTLE_ENDIAN);
                } catch (ClosedByInterruptException interrupted) {
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
