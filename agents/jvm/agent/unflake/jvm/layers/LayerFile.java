package unflake.jvm.layers;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.jvm.protocol.Json;

/** The file with the layers of one test: one JSON array per line. */
final class LayerFile {
    private static final int MAX_TEXT = 64 << 10;
    /** Limits for passing evaluations, of one assertion and of all; others are always written. */
    private static final int MAX_PASSES_PER_SITE = 1000;
    private static final int MAX_PASSES = 20_000;

    private static final int BUFFER = 8 << 10;

    private final File file;
    private final FileOutputStream out;
    private final StringBuilder pending = new StringBuilder();
    private final Map<String, Integer> files = new HashMap<>();
    private final Map<AssertionSite, Integer> sites = new HashMap<>();
    private final Map<Integer, Integer> passesBySite = new HashMap<>();
    private final Set<String> gaps = new HashSet<>();
    private int passes;
    private boolean isClosed;

    LayerFile(File file) throws IOException {
        this.file = file;
        out = new FileOutputStream(file);
        write("format", 1);
    }

    /** Records one evaluation of an assertion; {@code values} alternates names and values. */
    synchronized void asserted(AssertionSite site, String outcome, List<Object> values) {
        Integer number = sites.get(site);
        if (number == null) {
            int fileNumber = number(site.file);
            number = sites.size();
            write("site", number, fileNumber, site.function, site.expression, site.ordinal, site.line);
            sites.put(site, number);
        }
        if (outcome.equals("held") && (passesBySite.merge(number, 1, Integer::sum) > MAX_PASSES_PER_SITE || ++passes > MAX_PASSES)) {
            gap("assertion", "more assertions were evaluated than are recorded");
            return;
        }
        List<List<Object>> pairs = new ArrayList<>();
        for (int index = 0; index < values.size(); index += 2) {
            pairs.add(values.subList(index, index + 2));
        }
        write("assert", number, outcome, pairs);
    }

    /** The number of a file, which is written before anything that uses it. */
    private int number(String path) {
        Integer number = files.get(path);
        if (number == null) {
            number = files.size();
            // In this order, because the stack may be exhausted in between.
            write("file", number, path);
            files.put(path, number);
        }
        return number;
    }

    /** {@code ranges}: first and last lines that ran. */
    synchronized void lines(String path, List<Object> ranges) {
        write("lines", number(path), ranges);
    }

    /** {@code taken}: line and description of each branch. */
    synchronized void branches(String path, List<Object> taken) {
        write("branches", number(path), taken);
    }

    synchronized void point(int point, String path, String function, String word, List<String> variables) {
        write("point", point, number(path), function, word, variables);
    }

    synchronized void row(int point, List<Object> values) {
        write("row", point, values);
    }

    synchronized void printed(String stream, String text) {
        if (!text.isEmpty()) {
            write("out", stream, bounded(text));
        }
    }

    synchronized void step(String action, String address, List<String> tree, String text) {
        write("step", action, address, tree, bounded(text));
    }

    /** Each gap is written once. */
    synchronized void gap(String layer, String reason) {
        if (gaps.add(layer + " " + reason)) {
            write("gap", layer, reason);
        }
    }

    /** Returns the path, or null if the file is incomplete. */
    synchronized String close() {
        try {
            if (!isClosed) {
                flush();
            }
            isClosed = true;
            out.close();
            return file.getPath();
        } catch (IOException error) {
            return null;
        }
    }

    private static String bounded(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT / 2) + "\n…\n" + text.substring(text.length() - MAX_TEXT / 2);
    }

    /**
     * Ignores threads that outlive their test. Adds whole lines, also if the stack is exhausted.
     */
    private void write(Object... elements) {
        if (isClosed) {
            return;
        }
        String line = Json.of(Arrays.asList(elements)) + "\n";
        pending.append(line);
        if (pending.length() >= BUFFER) {
            try {
                flush();
            } catch (IOException full) {
                // The reader takes what is there.
                isClosed = true;
            }
        }
    }

    private void flush() throws IOException {
        byte[] bytes = pending.toString().getBytes(StandardCharsets.US_ASCII);
        out.write(bytes);
        pending.setLength(0);
    }
}
