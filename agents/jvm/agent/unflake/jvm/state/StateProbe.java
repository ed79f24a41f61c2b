package unflake.jvm.state;

import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.jvm.protocol.DriverOutput;
import unflake.jvm.protocol.FailureDescription;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.util.JvmAccess;

/**
 * Finds what tests leave behind: remembers the state before the first test, compares it after some
 * of them, and restores requested cells before the remaining tests run. The configuration has one
 * directive per line:
 *
 * <p>{@code after N}: compare after this many tests; {@code class NAME}: initialize this class
 * beforehand, so that its initial state is known; {@code restore PATH}: restore this cell; {@code
 * watch PATH}: find the line that wrote this cell last; {@code source DIR}: a source directory;
 * {@code root DIR}: the base of file names; {@code report FILE}: where to write the differences;
 * {@code scout FILE}: instead of all this, write the classes that the tests initialize, and restore
 * the project's files.
 */
public final class StateProbe {
    /** Initialized with the services of the JDK that have state of their own. */
    private static final String LOGGING = "java.util.logging.LogManager";
    private static final String MANAGEMENT = "com.sun.jmx.mbeanserver.JmxMBeanServer";

    private static StateProbe active;

    private final JvmAccess jvm;
    private final List<String> classes = new ArrayList<>();
    private final List<String> restore = new ArrayList<>();
    private final List<String> watched = new ArrayList<>();
    private final List<String> sources = new ArrayList<>();
    /** Null if nothing is watched. */
    private WriteWatch watch;
    private int after;
    private String report;
    private String classList;
    private boolean isCompared;

    private Map<String, StaticFields> statics;
    private final HeapSnapshot heap = new HeapSnapshot();
    private final ThreadState threads = new ThreadState();
    private final ProjectFiles files = new ProjectFiles();
    private final OpenDescriptors openDescriptors = new OpenDescriptors();
    private final ClassInitialization initialization;
    private ProcessSettings processSettings;
    private final List<String> unknown = new ArrayList<>();

    private StateProbe(JvmAccess jvm, String path) throws Exception {
        this.jvm = jvm;
        initialization = new ClassInitialization(jvm);
        for (String line : Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8)) {
            int end = line.indexOf(' ');
            String rest = unescape(line.substring(end + 1));
            switch (line.substring(0, end)) {
                case "after":
                    after = Integer.parseInt(rest);
                    break;
                case "class":
                    classes.add(rest);
                    break;
                case "restore":
                    restore.add(rest);
                    break;
                case "watch":
                    watched.add(rest);
                    break;
                case "source":
                    sources.add(rest);
                    break;
                case "root":
                    files.base = Paths.get(rest);
                    break;
                case "report":
                    report = rest;
                    break;
                default:
                    classList = rest;
            }
        }
    }

    /** Decodes {@code \\} and {@code \n}. */
    private static String unescape(String text) {
        StringBuilder plain = new StringBuilder();
        for (int index = 0; index < text.length(); index++) {
            boolean escaped = text.charAt(index) == '\\' && index + 1 < text.length();
            char character = escaped ? text.charAt(++index) : text.charAt(index);
            plain.append(escaped && character == 'n' ? '\n' : character);
        }
        return plain.toString();
    }

    /** Called before any project class is loaded. */
    public static void install(String path, Instrumentation jvm) throws Exception {
        active = new StateProbe(new JvmAccess(jvm), path);
        if (!active.watched.isEmpty()) {
            active.watch = new WriteWatch(active.watched, active.sources, active.files.base);
            jvm.addTransformer(active.watch);
        }
    }

    /** Returns null if state is not probed. */
    public static StateProbe active() {
        return active;
    }

    public void remember() {
        initialization.initialize(classes);
        initialization.remember();
        if (classList == null) {
            // First, because reading them sets static fields.
            processSettings = new ProcessSettings(uses(LOGGING), uses(MANAGEMENT));
            processSettings.remember();
        }
        statics = StaticFields.all(jvm);
        if (classList == null) {
            heap.remember(statics.values());
            threads.remember(heap);
            openDescriptors.remember();
        }
        files.remember();
        if (watch != null) {
            watch.start(heap, processSettings);
        }
    }

    private boolean uses(String className) {
        for (Class<?> type : jvm.loadedClasses()) {
            if (type.getName().equals(className)) {
                return jvm.isInitialized(type);
            }
        }
        return false;
    }

    /** No part of the test at this position has started, and the tests before it are over. */
    public void beforeTest(int index, DriverOutput output) {
        if (index != after || isCompared || classList != null) {
            return;
        }
        isCompared = true;
        try {
            List<StateCell> cells = compare();
            if (watch != null) {
                watch.finish(cells);
            }
            writeReport(cells);
            output.send(new JsonObject().put("changed", report));
            if (!restore.isEmpty()) {
                output.send(new JsonObject().put("restored", true).put("failed", restoreCells(cells)));
            }
        } catch (Exception error) {
            output.send(new JsonObject().put("problem", "leaked state could not be compared: " + FailureDescription.stackTrace(error)));
        }
    }

    /** All tests have run. */
    public void finish() throws Exception {
        if (classList == null) {
            return;
        }
        Set<String> names = new LinkedHashSet<>();
        initialization.late().forEach(type -> names.add(type.getName()));
        for (String name : StaticFields.all(jvm).keySet()) {
            if (!statics.containsKey(name)) {
                names.add(name.replaceFirst("#.*", ""));
            }
        }
        for (String service : new String[] {LOGGING, MANAGEMENT}) {
            if (uses(service)) {
                names.add(service);
            }
        }
        for (StateCell cell : files.changes()) {
            if (cell.fixed == null) {
                cell.undo.run();
            }
        }
        Files.write(Paths.get(classList), names, StandardCharsets.UTF_8);
        // Shutdown hooks of the project must not run.
        Runtime.getRuntime().halt(0);
    }

    private List<StateCell> compare() {
        HeapDiff differences = new HeapDiff(heap);
        differences.compareStatics();
        List<StateCell> ofThreads = threads.changes(differences);
        // What matters least often comes last: it is named only where nothing else is found.
        List<StateCell> cells = new ArrayList<>(differences.cells);
        cells.addAll(processSettings.changes());
        cells.addAll(files.changes());
        cells.addAll(ofThreads);
        cells.addAll(openDescriptors.changes());
        cells.addAll(files.newTemporaries());
        cells.addAll(initialization.cells());
        cells.sort(Comparator.comparingInt(StateProbe::rank));
        return withUniquePaths(cells);
    }

    /** Counters count in every test, and what cannot be restored cannot be proven. */
    private static int rank(StateCell cell) {
        return cell.fixed != null ? 2 : isCounter(cell) ? 1 : 0;
    }

    private static boolean isCounter(StateCell cell) {
        try {
            return Long.parseLong(String.valueOf(cell.before)) < Long.parseLong(String.valueOf(cell.after));
        } catch (NumberFormatException noNumber) {
            return false;
        }
    }

    /** Numbers cells that have the same path. */
    private static List<StateCell> withUniquePaths(List<StateCell> cells) {
        Map<String, Integer> counts = new HashMap<>();
        List<StateCell> unique = new ArrayList<>();
        for (StateCell cell : cells) {
            int count = counts.merge(cell.path, 1, Integer::sum);
            unique.add(count == 1 ? cell : cell.withPath(cell.path + " (" + count + ")"));
        }
        return unique;
    }

    private void writeReport(List<StateCell> cells) throws Exception {
        List<JsonObject> messages = new ArrayList<>();
        cells.forEach(cell -> messages.add(cell.toJson()));
        for (List<String> source : java.util.Arrays.asList(heap.unknown, threads.unknown, files.unknown, initialization.unknown)) {
            unknown.addAll(source);
        }
        String text = new JsonObject().put("format", 1).put("cells", messages).put("unknown", unknown).toString();
        Files.write(Paths.get(report), text.getBytes(StandardCharsets.US_ASCII));
    }

    /** Returns the cells that could not be restored. */
    private List<JsonObject> restoreCells(List<StateCell> cells) {
        Map<String, StateCell> byPath = new LinkedHashMap<>();
        for (StateCell cell : cells) {
            byPath.put(cell.path, cell);
            cell.inside.forEach(part -> byPath.putIfAbsent(part.path, part));
        }
        List<JsonObject> failed = new ArrayList<>();
        for (String path : restore) {
            StateCell cell = byPath.get(path);
            String reason = cell == null ? "it is not changed in this process" : cell.fixed;
            if (reason == null) {
                try {
                    cell.undo.run();
                } catch (Exception | LinkageError error) {
                    reason = String.valueOf(error);
                }
            }
            if (reason != null) {
                failed.add(new JsonObject().put("cell", path).put("why", reason));
            }
        }
        return failed;
    }
}
