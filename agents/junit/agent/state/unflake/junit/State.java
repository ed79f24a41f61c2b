package unflake.junit;

import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What tests leave behind: remembered before the first of an order, compared after some of them, and put back as far as that is
 * wanted, before the rest runs. Told in a file, a line for each thing:
 *
 * <p>{@code after N}: how many tests come before; {@code class NAME}: to be initialised beforehand, so that it is known what was in
 * it; {@code restore PATH}: a cell to be put back; {@code root DIR}: what files are named from; {@code tell FILE}: where to write what differs; {@code scout FILE}: instead of all
 * that, write which classes the tests have initialised, and put back their files.
 */
final class State {
    private static State wanted;

    private final Opened jvm;
    private final List<String> classes = new ArrayList<>();
    private final List<String> restore = new ArrayList<>();
    private int after;
    private String tell;
    private String scout;
    private boolean isOver;

    private Map<String, Statics> statics;
    private final Heap heap = new Heap();
    private final Threads threads = new Threads();
    private final Disk disk = new Disk();
    private final Descriptors descriptors = new Descriptors();
    private Surroundings surroundings;
    private final List<String> unknown = new ArrayList<>();

    private State(Opened jvm, String path) throws Exception {
        this.jvm = jvm;
        for (String line : Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8)) {
            int end = line.indexOf(' ');
            String rest = plain(line.substring(end + 1));
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
                case "root":
                    disk.above = Paths.get(rest);
                    break;
                case "tell":
                    tell = rest;
                    break;
                default:
                    scout = rest;
            }
        }
    }

    /** A backslash stands before another one, and before an {@code n} that is the end of a line. */
    private static String plain(String text) {
        StringBuilder plain = new StringBuilder();
        for (int at = 0; at < text.length(); at++) {
            boolean escaped = text.charAt(at) == '\\' && at + 1 < text.length();
            char one = escaped ? text.charAt(++at) : text.charAt(at);
            plain.append(escaped && one == 'n' ? '\n' : one);
        }
        return plain.toString();
    }

    /** Called before anything of the project is loaded. */
    static void prepare(String path, Instrumentation jvm) throws Exception {
        wanted = new State(new Opened(jvm), path);
    }

    /** Null: nobody wants to know. */
    static State wanted() {
        return wanted;
    }

    void remember() {
        for (String name : classes) {
            try {
                Class.forName(name, true, Thread.currentThread().getContextClassLoader());
            } catch (Throwable cannot) {
                unknown.add(name + " could not be initialised before the tests: " + cannot);
            }
        }
        statics = Statics.all(jvm);
        if (scout == null) {
            heap.remember(statics.values());
            threads.remember(heap);
            surroundings = new Surroundings(usesLogging());
            surroundings.remember();
            descriptors.remember();
        }
        disk.remember();
    }

    private boolean usesLogging() {
        for (Class<?> type : jvm.loaded()) {
            if (type.getName().equals("java.util.logging.LogManager")) {
                return jvm.isInitialised(type);
            }
        }
        return false;
    }

    /** Nothing of the test at this place has begun, and what came before it is over. */
    void before(int at, Wire wire) {
        if (at != after || isOver || scout != null) {
            return;
        }
        isOver = true;
        try {
            List<Cell> cells = compare();
            write(cells);
            wire.say(new Message().put("changed", tell));
            if (!restore.isEmpty()) {
                wire.say(new Message().put("restored", true).put("failed", putBack(cells)));
            }
        } catch (Exception problem) {
            wire.say(new Message().put("problem", "what tests left behind could not be looked at: " + Failure.text(problem)));
        }
    }

    /** All tests have run. */
    void end() throws Exception {
        if (scout == null) {
            return;
        }
        List<String> found = new ArrayList<>();
        for (String name : Statics.all(jvm).keySet()) {
            if (!statics.containsKey(name)) {
                String type = name.replaceFirst("#.*", "");
                if (!found.contains(type)) {
                    found.add(type);
                }
            }
        }
        for (Cell cell : disk.changes()) {
            if (cell.fixed == null) {
                cell.undo.run();
            }
        }
        Files.write(Paths.get(scout), found, StandardCharsets.UTF_8);
        // What the project would still do at its end is not to be done.
        Runtime.getRuntime().halt(0);
    }

    private List<Cell> compare() {
        Differences differences = new Differences(heap);
        differences.ofStatics();
        List<Cell> cells = new ArrayList<>(threads.changes(differences));
        cells.addAll(0, differences.cells);
        cells.addAll(surroundings.changes());
        cells.addAll(descriptors.changes());
        cells.addAll(disk.changes());
        long others = Statics.all(jvm).keySet().stream().filter(name -> !statics.containsKey(name)).count();
        if (others > 0) {
            unknown.add(others + (others == 1 ? " class was" : " classes were") + " initialised only then, and nobody knows what was in "
                    + (others == 1 ? "it" : "them") + " before");
        }
        return unique(cells);
    }

    /** Two things of the same name are told apart by numbers. */
    private static List<Cell> unique(List<Cell> cells) {
        Map<String, Integer> times = new HashMap<>();
        List<Cell> named = new ArrayList<>();
        for (Cell cell : cells) {
            int time = times.merge(cell.path, 1, Integer::sum);
            named.add(time == 1 ? cell : cell.named(cell.path + " (" + time + ")"));
        }
        return named;
    }

    private void write(List<Cell> cells) throws Exception {
        List<Message> told = new ArrayList<>();
        cells.forEach(cell -> told.add(cell.told()));
        for (List<String> more : java.util.Arrays.asList(heap.unknown, threads.unknown, disk.unknown)) {
            unknown.addAll(more);
        }
        String text = new Message().put("format", 1).put("cells", told).put("unknown", unknown).toString();
        Files.write(Paths.get(tell), text.getBytes(StandardCharsets.US_ASCII));
    }

    /** What could not be. */
    private List<Message> putBack(List<Cell> cells) {
        Map<String, Cell> byPath = new LinkedHashMap<>();
        cells.forEach(cell -> byPath.put(cell.path, cell));
        List<Message> failed = new ArrayList<>();
        for (String path : restore) {
            Cell cell = byPath.get(path);
            String why = cell == null ? "it is not changed in this process" : cell.fixed;
            if (why == null) {
                try {
                    cell.undo.run();
                } catch (Exception | LinkageError problem) {
                    why = String.valueOf(problem);
                }
            }
            if (why != null) {
                failed.add(new Message().put("cell", path).put("why", why));
            }
        }
        return failed;
    }
}
