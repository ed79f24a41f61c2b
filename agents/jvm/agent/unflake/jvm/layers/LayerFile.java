package unflake.jvm.layers;

import java.io.BufferedWriter;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
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

    private final File file;
    private final Writer out;
    private final Map<String, Integer> files = new HashMap<>();
    private final Map<AssertionSite, Integer> sites = new HashMap<>();
    private final Map<Integer, Integer> passesBySite = new HashMap<>();
    private final Set<String> gaps = new HashSet<>();
    private int passes;
    private boolean isClosed;

    LayerFile(File file) throws IOException {
        this.file = file;
        out = new BufferedWriter(new OutputStreamWriter(new FileOutputStream(file), StandardCharsets.US_ASCII));
        write("format", 1);
    }

    /** Records one evaluation of an assertion; {@code values} alternates names and values. */
    synchronized void asserted(AssertionSite site, String outcome, List<Object> values) {
        Integer number = sites.get(site);
        if (number == null) {
            Integer fileNumber = files.get(site.file);
            if (fileNumber == null) {
                fileNumber = files.size();
                files.put(site.file, fileNumber);
                write("file", fileNumber, site.file);
            }
            number = sites.size();
            sites.put(site, number);
            write("site", number, fileNumber, site.function, site.expression, site.ordinal, site.line);
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
        isClosed = true;
        try {
            out.close();
            return file.getPath();
        } catch (IOException error) {
            return null;
        }
    }

    private static String bounded(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT / 2) + "\n…\n" + text.substring(text.length() - MAX_TEXT / 2);
    }

    /** Ignores threads that outlive their test, and a full disk: the file then ends here. */
    private void write(Object... elements) {
        if (isClosed) {
            return;
        }
        try {
            out.write(Json.of(Arrays.asList(elements)));
            out.write('\n');
        } catch (IOException ignored) {
            // The reader takes what is there.
        }
    }
}
