package unflake.layers;

import java.io.BufferedWriter;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What is told of one test: a JSON array in each line. */
final class Sheet {
    private static final int LONGEST = 64 << 10;
    /** So often one assertion, and all of them together, are told to have held. What did not is always told. */
    private static final int MOST_HELD = 1000;
    private static final int MOST = 20_000;

    private final File file;
    private final Writer out;
    private final Map<String, Integer> files = new HashMap<>();
    private final Map<Place, Integer> sites = new HashMap<>();
    private final Map<Integer, Integer> held = new HashMap<>();
    private final Set<String> gaps = new HashSet<>();
    private int allHeld;

    private boolean isClosed;

    Sheet(File file) throws IOException {
        this.file = file;
        out = new BufferedWriter(new OutputStreamWriter(new FileOutputStream(file), StandardCharsets.US_ASCII));
        line(new Line("format").add(1));
    }

    /** An assertion at this place was evaluated; {@code saw} has a name and a value by turns. */
    synchronized void asserted(Place place, String how, List<Object> saw) {
        Integer site = sites.get(place);
        if (site == null) {
            Integer number = files.get(place.file);
            if (number == null) {
                number = files.size();
                files.put(place.file, number);
                line(new Line("file").add(number).add(place.file));
            }
            site = sites.size();
            sites.put(place, site);
            line(new Line("site").add(site).add(number).add(place.function).add(place.expression).add(place.ordinal).add(place.line));
        }
        if (how.equals("held") && (held.merge(site, 1, Integer::sum) > MOST_HELD || ++allHeld > MOST)) {
            gap("assertion", "more assertions were evaluated than are told");
            return;
        }
        Line line = new Line("assert").add(site).add(how).open();
        for (int at = 0; at < saw.size(); at += 2) {
            line.open().add(saw.get(at)).add(saw.get(at + 1)).close();
        }
        line(line.close());
    }

    synchronized void wrote(String stream, String text) {
        if (!text.isEmpty()) {
            line(new Line("out").add(stream).add(bounded(text)));
        }
    }

    synchronized void step(String action, String address, List<String> tree, String text) {
        Line line = new Line("step").add(action).add(address).open();
        for (String one : tree) {
            line.add(one);
        }
        line(line.close().add(bounded(text)));
    }

    /** Once. */
    synchronized void gap(String layer, String why) {
        if (gaps.add(layer + " " + why)) {
            line(new Line("gap").add(layer).add(why));
        }
    }

    /** Its path. */
    synchronized String close() {
        isClosed = true;
        try {
            out.close();
            return file.getPath();
        } catch (IOException problem) {
            return null;
        }
    }

    private static String bounded(String text) {
        return text.length() <= LONGEST ? text : text.substring(0, LONGEST / 2) + "\n…\n" + text.substring(text.length() - LONGEST / 2);
    }

    private void line(Line line) {
        if (isClosed) {
            return; // A thread that outlives its test.
        }
        try {
            out.write(line.toString());
            out.write('\n');
        } catch (IOException problem) {
            // The disk is full, or the directory gone: what is told ends here.
        }
    }
}
