package unflake.jvm.trace;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import unflake.jvm.util.ProcessId;

/** The part of a trace that this process writes: its directory, ids and limits. */
final class ProcessTrace {
    /** Each thread needs a mapping of its own, and their number is limited. */
    private static final int MAX_THREADS = 10_000;

    final File directory;
    /** Limits: events of one thread, and events that all threads together may still record. */
    final long threadLimit;
    final AtomicLong remainingEvents;
    private final AtomicInteger placeIds = new AtomicInteger();
    private final List<ThreadTrace> threads = new ArrayList<>();
    /** Names of values by id. */
    private volatile String[] names = new String[64];
    private final Map<String, Integer> nameIds = new HashMap<>();
    final boolean recordsValues;
    private boolean isFinished;

    ProcessTrace(File attempt, boolean recordsValues, long threadLimit, long remainingEvents) throws IOException {
        this.recordsValues = recordsValues;
        this.threadLimit = threadLimit;
        this.remainingEvents = new AtomicLong(remainingEvents);
        String pid = ProcessId.get();
        attempt.mkdirs();
        File folder = new File(attempt, pid + "-1");
        for (int number = 2; !folder.mkdir(); number++) {
            if (!folder.exists()) {
                throw new IOException(folder + " cannot be made");
            }
            folder = new File(attempt, pid + "-" + number);
        }
        directory = folder;
        append("process", "unflake-trace 1\npid " + pid + "\nstarted " + System.nanoTime() + "\nexecutable java\n");
        append("places", "unflake-places 1\n");
    }

    /** The id of the next place. */
    int nextPlaceId() {
        return placeIds.incrementAndGet();
    }

    /** The id of a name of values. */
    synchronized int nameId(String name) {
        Integer existing = nameIds.get(name);
        if (existing != null) {
            return existing;
        }
        int id = nameIds.size();
        String[] grown = id < names.length ? names : Arrays.copyOf(names, 2 * id);
        grown[id] = escaped(name);
        names = grown;
        nameIds.put(name, id);
        return id;
    }

    String name(int id) {
        return names[id];
    }

    /** Called before any of these places can be executed. */
    synchronized void append(PlaceTable table) throws IOException {
        append("places", table.places.toString());
        append("reaches", table.calls.toString());
    }

    synchronized void note(String text) {
        appendIfPossible("places", "note\t" + escaped(text) + "\n");
    }

    private void appendIfPossible(String name, String text) {
        try {
            append(name, text);
        } catch (IOException gone) {
            // The directory of the attempt is gone.
        }
    }

    private void append(String name, String text) throws IOException {
        if (!text.isEmpty()) {
            try (OutputStream out = new FileOutputStream(new File(directory, name), true)) {
                out.write(text.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    /** The number of a thread that records its first line; 0 to ignore it. */
    synchronized int register(ThreadTrace thread) {
        if (isFinished || threads.size() > MAX_THREADS) {
            return 0;
        }
        if (threads.size() == MAX_THREADS) {
            appendIfPossible("process", "lost attempt-limit 0\n");
        }
        threads.add(thread);
        return threads.size();
    }

    synchronized boolean isFinished() {
        return isFinished;
    }

    /** The attempt is over; what follows belongs to no test. */
    synchronized void finish() {
        isFinished = true;
        for (ThreadTrace thread : threads) {
            thread.finish();
        }
    }

    static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }
}
