package unflake.junit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs tests one by one, in the order it is told, in this process, and says what becomes of them.
 *
 * <p>Started with a word that marks what it says, the files in which Surefire told its own process what to do, and either
 * the path of an order, or {@code -}: then it lists all tests, and waits for the path of its one order. Where a file with the rest of the
 * class path comes after the order, each test is to have a class loader of its own.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] words) throws Exception {
        Wire wire = new Wire(words[0]);
        Outputs outputs = Outputs.take();
        int exit = 1;
        try {
            Module module = Module.read(words[1], words[2]);
            Report report = new Report(wire, outputs);
            if (words.length > 4) {
                new Loaders(lines(words[4]), tests -> run(tests, frameworks(module), report)).run(lines(words[3]), wire);
            } else {
                here(words[3], module, wire, report);
            }
            exit = 0;
        } catch (Throwable problem) {
            wire.say(new Message().put("problem", Failure.text(problem)));
        }
        // Threads that tests have left behind do not keep the process, as they do not keep Surefire's.
        wire.say(new Message().put("over", exit));
        System.exit(exit);
    }

    /** Lists tests, runs tests, or both, in this process as it is. */
    private static void here(String order, Module module, Wire wire, Report report) throws Exception {
        List<Framework> frameworks = frameworks(module);
        if (order.equals("-")) {
            list(module, frameworks, wire);
            order = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
        }
        if (order == null) {
            return;
        }
        List<Wanted> tests = new ArrayList<>();
        for (String key : lines(order)) {
            tests.add(new Wanted(tests.size(), key));
        }
        unflake.layers.Layers.run(order);
        State state = State.wanted();
        if (state != null) {
            state.remember();
        }
        run(tests, frameworks, report);
        if (state != null) {
            state.end();
        }
    }

    /** Those whose classes are here; which ones are packed depends on what the project has. */
    private static List<Framework> frameworks(Module module) throws ReflectiveOperationException {
        List<Framework> found = new ArrayList<>();
        for (String name : new String[] {"unflake.junit.Platform", "unflake.junit.Classic"}) {
            Class<?> type;
            try {
                type = Class.forName(name);
            } catch (ClassNotFoundException absent) {
                continue;
            }
            found.add((Framework) type.getConstructor(Module.class).newInstance(module));
        }
        return found;
    }

    private static void list(Module module, List<Framework> frameworks, Wire wire) throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (String name : module.classes) {
            Class<?> loaded = module.load(name);
            if (loaded != null) {
                classes.add(loaded);
            }
        }
        for (Framework framework : frameworks) {
            framework.list(classes, (key, type, method) -> {
                if (module.isWanted(type, method)) {
                    wire.add(new Message().put("test", key).put("class", type).put("method", method));
                }
            });
        }
        for (String note : module.notes) {
            wire.say(new Message().put("note", note));
        }
        wire.say(new Message().put("listed", true).put("used", module.isUsed));
    }

    /** Neighbours of one framework are its to run together. */
    private static void run(List<Wanted> tests, List<Framework> frameworks, Report report) throws Exception {
        int at = 0;
        while (at < tests.size()) {
            Framework framework = owner(tests.get(at).key, frameworks);
            int from = at;
            while (at < tests.size() && owner(tests.get(at).key, frameworks) == framework) {
                at++;
            }
            framework.run(tests.subList(from, at), report);
            if (at == tests.size()) {
                // Before the last test is told to be over: its trace is read then.
                unflake.lines.Lines.end();
            }
            report.over();
        }
    }

    private static List<String> lines(String path) throws IOException {
        return Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8);
    }

    private static Framework owner(String key, List<Framework> frameworks) {
        for (Framework framework : frameworks) {
            if (framework.owns(key)) {
                return framework;
            }
        }
        throw new IllegalArgumentException("nobody here runs " + key);
    }
}
