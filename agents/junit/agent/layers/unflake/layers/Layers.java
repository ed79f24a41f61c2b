package unflake.layers;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Tells what each test looked like: what its assertions saw, what it wrote, and what stood on the screen before it was cleared away. */
public final class Layers {
    private static Layers here;

    private final Set<String> wanted;
    private final File side;
    private final Instrumentation jvm;
    private final Sources sources;
    /** Null: no assertion may fail. */
    private final Filter filter;
    private volatile Sheet sheet;
    /** Whether the screen was looked at for the test that runs now. */
    private volatile boolean hasLooked;
    private int told;

    private Layers(Set<String> wanted, File side, Sources sources, Instrumentation jvm) {
        this.wanted = wanted;
        this.side = side;
        this.sources = sources;
        filter = wanted.contains("filter") ? new Filter(sources) : null;
        this.jvm = jvm;
    }

    /**
     * {@code path}: a file with the layers that are wanted, a directory for what is told, the root, and directories of sources. Beside it
     * is a table of the assertions in them.
     */
    public static void begin(String path, Instrumentation jvm) throws IOException {
        List<String> lines = Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8);
        Set<String> wanted = new HashSet<>(Arrays.asList(lines.get(0).split(",")));
        Sources sources = new Sources(new File(lines.get(2)), lines.subList(3, lines.size()));
        here = new Layers(wanted, new File(lines.get(1)), sources, jvm);
        if (wanted.contains("assertion")) {
            sources.know(new File(path + ".sites"));
            jvm.addTransformer(new Watched(wanted.contains("filter")));
        }
        if (wanted.contains("interface")) {
            jvm.addTransformer(new TearDowns());
        }
    }

    /** These tests are about to run. Beside the order, where there are any, are the assertions that may fail in them. */
    public static void run(String order) throws IOException {
        File mayFail = new File(order + ".may-fail");
        if (here != null && here.filter != null && mayFail.isFile()) {
            here.filter.read(mayFail);
        }
    }

    /** A test begins, which is at this place of the order. */
    public static void start(int test) {
        Layers layers = here;
        if (layers != null) {
            layers.open(test);
        }
    }

    /** Something begins that may clear the screen. */
    static void clearing() {
        Layers layers = here;
        Sheet sheet = layers == null ? null : layers.sheet;
        if (sheet != null) {
            layers.look(sheet);
        }
    }

    /** It has ended, and has written this. The file in which it is told, or null. */
    public static String end(Supplier<String> out, Supplier<String> err) {
        Layers layers = here;
        return layers == null ? null : layers.close(out, err);
    }

    /** The sheet of the test that runs now, or null. */
    static Sheet sheet() {
        return here == null ? null : here.sheet;
    }

    static Sources sources() {
        return here.sources;
    }

    static Filter filter() {
        return here.filter;
    }

    private void open(int test) {
        if (filter != null) {
            filter.begin(test);
        }
        try {
            String name = "layers-" + Process.number() + "-" + told++;
            hasLooked = false;
            sheet = new Sheet(new File(side, name));
        } catch (IOException problem) {
            // Nothing can be told of this test; that there is no sheet says so.
        }
    }

    private String close(Supplier<String> out, Supplier<String> err) {
        Seen.end();
        if (filter != null) {
            filter.end();
        }
        Sheet sheet = this.sheet;
        this.sheet = null;
        if (sheet == null) {
            return null;
        }
        if (wanted.contains("interface")) {
            sheet.wrote("stdout", out.get());
            sheet.wrote("stderr", err.get());
            look(sheet);
        }
        return sheet.close();
    }

    /** Once in each test: what can be seen when it has been torn down is not what it did. */
    private void look(Sheet sheet) {
        if (!hasLooked && Screen.isThere(jvm)) {
            hasLooked = true;
            Screen.tell(sheet);
        }
    }
}
