package unflake.lines;

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

/** What this process leaves in the directory of the attempt. */
final class Part {
    /** Each takes a mapping of its own, of which a process cannot have any number. */
    private static final int MOST_THREADS = 10_000;

    final File directory;
    /** How many events of a thread, and how many of all of them, may still be kept. */
    final long ofThread;
    final AtomicLong ofAll;
    private final AtomicInteger numbers = new AtomicInteger();
    private final List<Strand> strands = new ArrayList<>();
    /** What values are called, by number. */
    private volatile String[] names = new String[64];
    private final Map<String, Integer> named = new HashMap<>();
    final boolean wantsValues;
    private boolean isOver;

    Part(File attempt, boolean wantsValues, long ofThread, long ofAll) throws IOException {
        this.wantsValues = wantsValues;
        this.ofThread = ofThread;
        this.ofAll = new AtomicLong(ofAll);
        String pid = new File("/proc/self").getCanonicalFile().getName();
        attempt.mkdirs();
        File place = new File(attempt, pid + "-1");
        for (int time = 2; !place.mkdir(); time++) {
            if (!place.exists()) {
                throw new IOException(place + " cannot be made");
            }
            place = new File(attempt, pid + "-" + time);
        }
        directory = place;
        boolean isKnown = pid.matches("[0-9]+");
        append("process", "unflake-observe 1\npid " + (isKnown ? pid : "0") + "\nstarted " + System.nanoTime() + "\nexecutable java\n");
        append("places", "unflake-places 1\n");
    }

    /** For one more place. */
    int number() {
        return numbers.incrementAndGet();
    }

    /** For a name that values have. */
    synchronized int name(String name) {
        Integer there = named.get(name);
        if (there != null) {
            return there;
        }
        int number = named.size();
        String[] all = number < names.length ? names : Arrays.copyOf(names, 2 * number);
        all[number] = escaped(name);
        names = all;
        named.put(name, number);
        return number;
    }

    String named(int number) {
        return names[number];
    }

    /** Written before any of these places can be come to. */
    synchronized void add(Places places) throws IOException {
        append("places", places.table.toString());
        append("reaches", places.reaches.toString());
    }

    synchronized void note(String text) {
        tell("places", "note\t" + escaped(text) + "\n");
    }

    private void tell(String name, String text) {
        try {
            append(name, text);
        } catch (IOException gone) {
            // There is nowhere to say it: the directory of the attempt is gone.
        }
    }

    private void append(String name, String text) throws IOException {
        if (!text.isEmpty()) {
            try (OutputStream out = new FileOutputStream(new File(directory, name), true)) {
                out.write(text.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    /** A number for a thread that has come to its first line; 0: it is not to be kept. */
    synchronized int enter(Strand strand) {
        if (isOver || strands.size() > MOST_THREADS) {
            return 0;
        }
        if (strands.size() == MOST_THREADS) {
            tell("process", "lost attempt-limit 0\n");
        }
        strands.add(strand);
        return strands.size();
    }

    synchronized boolean isOver() {
        return isOver;
    }

    /** The attempt is over: what comes now belongs to nobody. */
    synchronized void end() {
        isOver = true;
        for (Strand strand : strands) {
            strand.end();
        }
    }

    static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }
}
