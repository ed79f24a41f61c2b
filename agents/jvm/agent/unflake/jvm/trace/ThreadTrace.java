package unflake.jvm.trace;

import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.ForkJoinWorkerThread;

/**
 * The lines that one thread executes, in order. {@code agents/native/format.rs} describes the
 * header of its file.
 */
final class ThreadTrace {
    private static final int HEADER_SIZE = 256;
    /** Size of the first piece of a file; each further piece is twice as large. */
    private static final int FIRST_PIECE = 4 << 10;
    private static final int PAGE_SIZE = 16 << 10;
    private static final int MAX_DEPTH = 16;
    /** Readers accept no more values of one attempt. */
    private static final int MAX_VALUES = 100_000;
    private static final int THREAD_LIMIT = 1;
    private static final int ATTEMPT_LIMIT = 2;
    private static final int NO_ROOM = 3;
    private static final ByteBuffer EMPTY = ByteBuffer.allocateDirect(0);

    private final ProcessTrace process;
    /** Ordinals among siblings from the first thread down to this one; null if unknown. */
    private final int[] ancestry;
    private final int parent;
    private int children;
    private int number;
    private MappedFile events;
    private ByteBuffer header;
    private ByteBuffer piece = EMPTY;
    private long capacity;
    private int pieceSize = FIRST_PIECE;
    private int truncated;
    private MappedFile valueFile;
    private ByteBuffer page = EMPTY;
    private int valueCount;
    /** Receives discarded events. */
    private ByteBuffer discarded;
    private long dropped;
    private boolean isBusy;
    private WeakReference<Thread> thread;
    private Schedule.ScheduledThread scheduled;
    /** How often it has passed each given point; null: none yet. */
    private int[] passed;
    private String label;

    ThreadTrace(ProcessTrace process, int[] ancestry, int parent) {
        this.process = process;
        this.ancestry = ancestry;
        this.parent = parent;
    }

    /** For a thread that this one creates. */
    ThreadTrace child() {
        int[] childAncestry = ancestry == null ? null : Arrays.copyOf(ancestry, ancestry.length + 1);
        if (childAncestry != null) {
            childAncestry[ancestry.length] = children++;
        }
        return new ThreadTrace(process, childAncestry, number);
    }

    void recordPlace(int place) {
        if (piece.remaining() < 4 && !grow()) {
            return;
        }
        piece.putInt(place);
    }

    /** The thread is delayed, if the schedule says so. */
    void follow(Schedule schedule, int place) {
        if (scheduled == null) {
            scheduled = schedule.thread(ancestry);
        }
        schedule.step(scheduled, children, place);
    }

    /** The thread is delayed, if a point says so. */
    void delay(DelayPoints points, int place) {
        if (passed == null) {
            StringBuilder text = new StringBuilder(ancestry == null ? "?" : "main");
            for (int step : ancestry == null ? new int[0] : ancestry) {
                text.append('.').append(step);
            }
            label = text.toString();
            passed = new int[points.count()];
        }
        points.step(place, label, passed);
    }

    /** Whether more values are recorded. */
    boolean acceptsValues() {
        return valueCount < MAX_VALUES && number > 0 && truncated == 0 && !isBusy;
    }

    /** Records a value after the line that was executed last. */
    void recordValue(String text, int name) {
        if (!acceptsValues()) {
            return;
        }
        isBusy = true;
        try {
            int place = piece.getInt(piece.position() - 4);
            long index = capacity - piece.remaining() / 4;
            String line = index + "\t" + place + "\t" + process.name(name) + "\t" + ProcessTrace.escaped(text) + "\n";
            writeValue(line.getBytes(StandardCharsets.UTF_8));
            valueCount++;
        } catch (IOException | RuntimeException | InternalError | StackOverflowError | OutOfMemoryError failure) {
            // Missing values are not evidence of anything.
            valueCount = MAX_VALUES;
        } finally {
            isBusy = false;
        }
    }

    private void writeValue(byte[] text) throws IOException {
        if (valueFile == null) {
            valueFile = new MappedFile(new File(process.directory, "values-" + number));
        }
        for (int from = 0; from < text.length;) {
            if (!page.hasRemaining()) {
                page = valueFile.append(PAGE_SIZE);
            }
            int length = Math.min(page.remaining(), text.length - from);
            page.put(text, from, length);
            from += length;
        }
    }

    /** Makes room for the next event; false if that is impossible now. */
    private boolean grow() {
        if (isBusy) {
            return false;
        }
        isBusy = true;
        try {
            if (number == 0) {
                return register();
            }
            if (truncated == 0) {
                truncated = mapNextPiece();
            }
            if (truncated != 0) {
                discard();
            }
            return true;
        } catch (StackOverflowError overflow) {
            // The stack is full; there is room again when the test returns.
            return false;
        } finally {
            isBusy = false;
        }
    }

    private boolean register() {
        number = process.register(this);
        if (number == 0) {
            // The trace is finished or has too many threads: discard everything.
            number = -1;
            truncated = NO_ROOM;
            discard();
            return true;
        }
        thread = new WeakReference<>(Thread.currentThread());
        events = new MappedFile(new File(process.directory, "thread-" + number));
        truncated = mapNextPiece();
        if (truncated != 0) {
            discard();
        }
        return true;
    }

    /** Maps another piece of the file; returns the reason of truncation, or 0. */
    private int mapNextPiece() {
        long remaining = process.threadLimit - capacity;
        int count = (int) Math.min(remaining, pieceSize / 4);
        if (process.isFinished()) {
            return NO_ROOM;
        }
        if (count == 0) {
            return THREAD_LIMIT;
        }
        if (process.remainingEvents.addAndGet(-count) < 0) {
            return ATTEMPT_LIMIT;
        }
        try {
            if (header == null) {
                header = events.append(HEADER_SIZE);
                writeHeader();
            }
            piece = events.append(count * 4);
        } catch (IOException | RuntimeException | InternalError | OutOfMemoryError failure) {
            return NO_ROOM;
        }
        capacity += count;
        pieceSize = Math.min(pieceSize * 2, MappedFile.MAX_PIECE);
        return 0;
    }

    private void writeHeader() {
        Thread self = Thread.currentThread();
        // Which thread creates the workers of a pool is random.
        boolean isIdentifiedByName = ancestry == null || self instanceof ForkJoinWorkerThread;
        header.putInt(8, 1).putInt(12, HEADER_SIZE).putInt(16, number).putInt(20, Math.max(parent, 0));
        header.putInt(24, isIdentifiedByName ? -1 : Math.min(ancestry.length, MAX_DEPTH));
        header.putLong(32, System.nanoTime());
        for (int step = 0; !isIdentifiedByName && step < Math.min(ancestry.length, MAX_DEPTH); step++) {
            header.putInt(64 + 4 * step, ancestry[step]);
        }
        byte[] name = self.getName().getBytes(StandardCharsets.UTF_8);
        for (int index = 0; index < Math.min(name.length, 63); index++) {
            header.put(128 + index, name[index]);
        }
        byte[] magic = "unfltrc\n".getBytes(StandardCharsets.US_ASCII);
        for (int index = 0; index < magic.length; index++) {
            header.put(index, magic[index]);
        }
    }

    /** From now on events are counted and discarded. */
    private void discard() {
        if (discarded == null) {
            discarded = ByteBuffer.allocateDirect(PAGE_SIZE);
        } else {
            dropped += PAGE_SIZE / 4;
        }
        ((Buffer) discarded).clear();
        piece = discarded;
        writeDropped(dropped);
    }

    private void writeDropped(long count) {
        if (header != null) {
            header.putInt(52, truncated).putLong(40, count);
        }
    }

    /** Records whether the thread has ended by now. */
    void finish() {
        Thread owner = thread == null ? null : thread.get();
        boolean hasEnded = ancestry != null && ancestry.length == 0 || owner == null || !owner.isAlive();
        if (header != null) {
            header.putInt(48, hasEnded ? 1 : 0);
        }
        if (truncated != 0) {
            writeDropped(dropped + piece.position() / 4);
        }
    }
}
