package unflake.lines;

import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.ForkJoinWorkerThread;

/** What one thread comes to, in its order. Its file has the head that {@code agents/native/format.rs} describes. */
final class Strand {
    private static final int HEAD = 256;
    /** How much the first piece of a file holds; each is twice as large as the one before. */
    private static final int FIRST = 4 << 10;
    private static final int PAGE = 16 << 10;
    private static final int STEPS = 16;
    /** No more are read of one attempt. */
    private static final int MOST_VALUES = 100_000;
    private static final int THREAD_LIMIT = 1;
    private static final int ATTEMPT_LIMIT = 2;
    private static final int NO_ROOM = 3;
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    private final Part part;
    /** At each step from the first thread, how many others its parent had made before; null: nobody knows. */
    private final int[] way;
    private final int parent;
    private int children;
    private int number;
    private Sheet sheet;
    private ByteBuffer head;
    private ByteBuffer piece = NOTHING;
    private long kept;
    private int size = FIRST;
    private int truncated;
    private Sheet values;
    private ByteBuffer page = NOTHING;
    private int told;
    /** Takes what is not kept. */
    private ByteBuffer spare;
    private long dropped;
    private boolean isBusy;
    private WeakReference<Thread> thread;

    Strand(Part part, int[] way, int parent) {
        this.part = part;
        this.way = way;
        this.parent = parent;
    }

    /** For a thread that this one makes. */
    Strand child() {
        int[] longer = way == null ? null : Arrays.copyOf(way, way.length + 1);
        if (longer != null) {
            longer[way.length] = children++;
        }
        return new Strand(part, longer, number);
    }

    void hit(int place) {
        if (piece.remaining() < 4 && !grow()) {
            return;
        }
        piece.putInt(place);
    }

    /** Whether values are still to be told. */
    boolean wantsMore() {
        return told < MOST_VALUES && number > 0 && truncated == 0 && !isBusy;
    }

    /** After the line that was come to last. */
    void value(String text, int name) {
        if (!wantsMore()) {
            return;
        }
        isBusy = true;
        try {
            int place = piece.getInt(piece.position() - 4);
            long at = kept - piece.remaining() / 4;
            String line = at + "\t" + place + "\t" + part.named(name) + "\t" + Part.escaped(text) + "\n";
            write(line.getBytes(StandardCharsets.UTF_8));
            told++;
        } catch (IOException | RuntimeException | InternalError | StackOverflowError | OutOfMemoryError full) {
            // What is not told is not blamed.
            told = MOST_VALUES;
        } finally {
            isBusy = false;
        }
    }

    private void write(byte[] text) throws IOException {
        if (values == null) {
            values = new Sheet(new File(part.directory, "values-" + number));
        }
        for (int from = 0; from < text.length;) {
            if (!page.hasRemaining()) {
                page = values.next(PAGE);
            }
            int fits = Math.min(page.remaining(), text.length - from);
            page.put(text, from, fits);
            from += fits;
        }
    }

    /** Room for what comes next; false: not now. */
    private boolean grow() {
        if (isBusy) {
            return false;
        }
        isBusy = true;
        try {
            if (number == 0) {
                return begin();
            }
            if (truncated == 0) {
                truncated = more();
            }
            if (truncated != 0) {
                drop();
            }
            return true;
        } catch (StackOverflowError deep) {
            // The test has no more room than we have. There will be some when it comes back.
            return false;
        } finally {
            isBusy = false;
        }
    }

    private boolean begin() {
        number = part.enter(this);
        if (number == 0) {
            // It begins when all is over, or when there are too many: whatever comes goes where nobody looks.
            number = -1;
            truncated = NO_ROOM;
            drop();
            return true;
        }
        thread = new WeakReference<>(Thread.currentThread());
        sheet = new Sheet(new File(part.directory, "thread-" + number));
        truncated = more();
        if (truncated != 0) {
            drop();
        }
        return true;
    }

    /** Another piece of the file; else why not. */
    private int more() {
        long left = part.ofThread - kept;
        int events = (int) Math.min(left, size / 4);
        if (part.isOver()) {
            return NO_ROOM;
        }
        if (events == 0) {
            return THREAD_LIMIT;
        }
        if (part.ofAll.addAndGet(-events) < 0) {
            return ATTEMPT_LIMIT;
        }
        try {
            if (head == null) {
                head = sheet.next(HEAD);
                describe();
            }
            piece = sheet.next(events * 4);
        } catch (IOException | RuntimeException | InternalError | OutOfMemoryError why) {
            return NO_ROOM;
        }
        kept += events;
        size = Math.min(size * 2, Sheet.MOST);
        return 0;
    }

    private void describe() {
        Thread me = Thread.currentThread();
        // Who makes the threads of such a pool is chance.
        boolean byName = way == null || me instanceof ForkJoinWorkerThread;
        head.putInt(8, 1).putInt(12, HEAD).putInt(16, number).putInt(20, Math.max(parent, 0));
        head.putInt(24, byName ? -1 : Math.min(way.length, STEPS));
        head.putLong(32, System.nanoTime());
        for (int step = 0; !byName && step < Math.min(way.length, STEPS); step++) {
            head.putInt(64 + 4 * step, way[step]);
        }
        byte[] name = me.getName().getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < Math.min(name.length, 63); at++) {
            head.put(128 + at, name[at]);
        }
        byte[] magic = "unfltrc\n".getBytes(StandardCharsets.US_ASCII);
        for (int at = 0; at < magic.length; at++) {
            head.put(at, magic[at]);
        }
    }

    /** What comes now is counted and not kept. */
    private void drop() {
        if (spare == null) {
            spare = ByteBuffer.allocateDirect(PAGE);
        } else {
            dropped += PAGE / 4;
        }
        ((Buffer) spare).clear();
        piece = spare;
        tellDropped(dropped);
    }

    private void tellDropped(long count) {
        if (head != null) {
            head.putInt(52, truncated).putLong(40, count);
        }
    }

    /** Whether the thread came to its end is known by now. */
    void end() {
        Thread mine = thread == null ? null : thread.get();
        boolean hasEnded = way != null && way.length == 0 || mine == null || !mine.isAlive();
        if (head != null) {
            head.putInt(48, hasEnded ? 1 : 0);
        }
        if (truncated != 0) {
            tellDropped(dropped + piece.position() / 4);
        }
    }
}
