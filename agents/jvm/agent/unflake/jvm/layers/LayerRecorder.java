package unflake.jvm.layers;

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
import unflake.jvm.util.ProcessId;

/**
 * Records what each test looked like: what its assertions evaluated, which lines and branches ran,
 * with which values methods were called, what it printed, and which windows were visible before its
 * tear-down.
 */
public final class LayerRecorder {
    private static LayerRecorder instance;

    private final Set<String> requested;
    private final File directory;
    private final Instrumentation jvm;
    private final SourceIndex sources;
    /** Null if no assertion may fail. */
    private final AssertionFilter filter;
    /** Null if neither lines nor branches nor calls are requested. */
    private final ProjectInstrumenter project;
    private volatile LayerFile current;
    /** Whether windows were recorded for the current test. */
    private volatile boolean hasRecordedWindows;
    private int count;

    private LayerRecorder(Set<String> requested, File directory, SourceIndex sources, ProjectInstrumenter project, Instrumentation jvm) {
        this.requested = requested;
        this.directory = directory;
        this.sources = sources;
        filter = requested.contains("filter") ? new AssertionFilter(sources) : null;
        this.project = project;
        this.jvm = jvm;
    }

    /**
     * {@code path}: a file with the requested layers, the output directory, the project root and
     * the source directories. A table of the assertions is in the same directory.
     */
    public static void install(String path, Instrumentation jvm) throws IOException {
        List<String> lines = Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8);
        Set<String> requested = new HashSet<>(Arrays.asList(lines.get(0).split(",")));
        File root = new File(lines.get(2));
        SourceIndex sources = new SourceIndex(root, lines.subList(3, lines.size()));
        boolean needsProject = requested.contains("code") || requested.contains("branch") || requested.contains("behaviour");
        ProjectInstrumenter project = needsProject ? new ProjectInstrumenter(requested, root, lines.subList(3, lines.size())) : null;
        instance = new LayerRecorder(requested, new File(lines.get(1)), sources, project, jvm);
        if (project != null) {
            jvm.addTransformer(project);
        }
        if (requested.contains("assertion")) {
            sources.readSites(new File(path + ".sites"));
            jvm.addTransformer(new AssertionInstrumenter(requested.contains("filter")));
        }
        if (requested.contains("interface")) {
            jvm.addTransformer(new TearDownInstrumenter());
        }
    }

    /**
     * Reads the assertions that may fail in these tests from the file beside the order, if it
     * exists.
     */
    public static void readFilter(String order) throws IOException {
        File mayFail = new File(order + ".may-fail");
        if (instance != null && instance.filter != null && mayFail.isFile()) {
            instance.filter.read(mayFail);
        }
    }

    /** The test at this position of the order starts. */
    public static void testStarted(int test) {
        LayerRecorder recorder = instance;
        if (recorder != null) {
            recorder.openFile(test);
        }
    }

    /** A method starts that may close windows. */
    static void beforeTearDown() {
        LayerRecorder recorder = instance;
        LayerFile file = recorder == null ? null : recorder.current;
        if (file != null) {
            recorder.recordWindows(file);
        }
    }

    /** Returns the path of the recorded file, or null. */
    public static String testFinished(Supplier<String> out, Supplier<String> err) {
        LayerRecorder recorder = instance;
        return recorder == null ? null : recorder.closeFile(out, err);
    }

    /** The file of the current test, or null. */
    static LayerFile currentFile() {
        return instance == null ? null : instance.current;
    }

    static SourceIndex sources() {
        return instance.sources;
    }

    static AssertionFilter filter() {
        return instance.filter;
    }

    /** Whether its source is part of the project. */
    static boolean isProjectClass(Class<?> type) {
        return instance.project.isOwn(type);
    }

    private void openFile(int test) {
        if (filter != null) {
            filter.testStarted(test);
        }
        try {
            String name = "layers-" + ProcessId.get() + "-" + count++;
            hasRecordedWindows = false;
            current = new LayerFile(new File(directory, name));
            if (project != null) {
                project.testStarted(current);
            }
        } catch (IOException error) {
            // A missing file tells the driver that nothing is known of this test.
        }
    }

    private String closeFile(Supplier<String> out, Supplier<String> err) {
        AssertionRecorder.testFinished();
        if (filter != null) {
            filter.testFinished();
        }
        LayerFile file = current;
        current = null;
        if (file == null) {
            return null;
        }
        if (project != null) {
            project.testFinished(file);
        }
        if (requested.contains("interface")) {
            file.printed("stdout", out.get());
            file.printed("stderr", err.get());
            recordWindows(file);
        }
        return file.close();
    }

    /** Once per test, because the state after tear-down is not the test's own. */
    private void recordWindows(LayerFile file) {
        if (!hasRecordedWindows && WindowSnapshot.isAwtLoaded(jvm)) {
            hasRecordedWindows = true;
            WindowSnapshot.record(file);
        }
    }
}
