package unflake.jvm.state;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.Instructions;
import unflake.jvm.bytecode.LineProbes;
import unflake.jvm.bytecode.LoaderVisibility;
import unflake.jvm.bytecode.MethodInfo;
import unflake.jvm.bytecode.UnsupportedCodeException;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.util.SourceFolders;

/**
 * Finds the line that wrote a cell last: before each line of the project it compares the objects on
 * the way to the watched cells. Where another thread may have written, no line is named.
 */
public final class WriteWatch implements ClassFileTransformer {
    private static final String PROBE_CLASS = "unflake/jvm/state/WriteWatch";
    private static final String INITIALIZER = "<clinit>";

    /** A line of the project. */
    private static final class Place {
        final String type;
        final String method;
        final String file;
        final int line;

        Place(String type, String method, String file, int line) {
            this.type = type;
            this.method = method;
            this.file = file;
            this.line = line;
        }
    }

    private static volatile WriteWatch active;

    private final Set<String> watched = new LinkedHashSet<>();
    private final SourceFolders sources;
    private final Path base;
    private final LoaderVisibility visibility = new LoaderVisibility(WriteWatch.class);
    private final List<Place> places = Collections.synchronizedList(new ArrayList<>());
    private final List<Supplier<List<StateCell>>> readers = new ArrayList<>();
    /** What the watched cells were when they were compared last, and who wrote that. */
    private Map<String, String> values = new HashMap<>();
    private final Map<String, JsonObject> writers = new HashMap<>();
    private final Map<Thread, Place> current = new HashMap<>();
    private Thread last;
    private boolean isBusy;

    WriteWatch(List<String> watched, List<String> roots, Path base) {
        this.watched.addAll(watched);
        sources = new SourceFolders(roots);
        this.base = base;
    }

    /** Starts when everything is remembered. */
    void start(HeapSnapshot heap, ProcessSettings settings) {
        for (AccessPath path : new HeapDiff(heap).locate(watched)) {
            readers.add(() -> HeapDiff.compareAlone(heap, path));
        }
        readers.add(settings::changes);
        active = this;
    }

    /** Adds the lines that wrote them to these cells. */
    void finish(List<StateCell> cells) {
        active = null;
        synchronized (this) {
            compare(Thread.currentThread());
        }
        for (StateCell cell : cells) {
            cell.written = writers.get(cell.path);
            cell.inside.forEach(part -> part.written = writers.get(part.path));
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        try {
            if (name == null || loader == null || !sources.mayHave(name) || !visibility.canSee(loader)) {
                return null;
            }
            ClassRewriter rewriter = new ClassRewriter(bytes);
            File file = sources.find(name, rewriter.sourceFile());
            if (file == null) {
                return null;
            }
            int probe = rewriter.pool().addMethod(PROBE_CLASS, "line", "(I)V");
            String path = base.relativize(file.toPath().toAbsolutePath()).toString();
            return rewriter.rewrite((method, code) -> instrument(method, code, probe, name.replace('/', '.'), path));
        } catch (Throwable error) {
            // Lines of this class are not found.
            return null;
        }
    }

    private byte[] instrument(MethodInfo method, CodeAttribute code, int probe, String type, String path) throws IOException {
        TreeMap<Integer, Integer> lines = LineProbes.lines(code);
        try {
            for (Map.Entry<Integer, Integer> line : lines.entrySet()) {
                int number = add(new Place(type, method.name(), path, line.getValue()));
                byte[] call = LineProbes.call(code.pool(), number, probe);
                code.layout.insertBefore(line.getKey(), call);
                Integer next = lines.higherKey(line.getKey());
                // What the rest of the line writes is not written by the method that it called.
                for (int pc = line.getKey(); pc < (next == null ? code.layout.length : next); pc = code.layout.next(pc)) {
                    if (Instructions.isCall(code.layout.opcode(pc))) {
                        code.layout.insertAfter(pc, call);
                    }
                }
            }
            return lines.isEmpty() ? null : code.write(LineProbes.EXTRA_STACK);
        } catch (UnsupportedCodeException tooLong) {
            return null;
        }
    }

    private int add(Place place) {
        synchronized (places) {
            places.add(place);
            return places.size() - 1;
        }
    }

    /** Called by instrumented classes before each line. */
    public static void line(int place) {
        WriteWatch watch = active;
        if (watch != null) {
            AgentError.guard(() -> watch.reach(place));
        }
    }

    private synchronized void reach(int number) {
        if (isBusy) {
            return;
        }
        isBusy = true;
        try {
            Thread thread = Thread.currentThread();
            Place place = places.get(number);
            compare(thread);
            if (place.method.equals(INITIALIZER)) {
                initialized(place.type);
            }
            current.put(thread, place);
            last = thread;
        } finally {
            isBusy = false;
        }
    }

    /** What has another value since the last line was written by that line. */
    private void compare(Thread thread) {
        Map<String, String> now = new HashMap<>();
        for (Supplier<List<StateCell>> reader : readers) {
            for (StateCell cell : reader.get()) {
                note(cell, now);
                cell.inside.forEach(part -> note(part, now));
            }
        }
        Place place = last == thread ? current.get(thread) : null;
        for (String path : watched) {
            if (!Objects.equals(values.get(path), now.get(path))) {
                writers.put(path, place == null ? null : json(place.file, place.line, place.type, place.method));
            }
        }
        values = now;
    }

    private void note(StateCell cell, Map<String, String> now) {
        if (watched.contains(cell.path)) {
            now.put(cell.path, cell.before + " " + cell.after);
        }
    }

    /** Finds the line that made a watched class initialize itself. */
    private void initialized(String type) {
        String path = ClassInitialization.path(type);
        if (!watched.contains(path) || writers.containsKey(path)) {
            return;
        }
        boolean isBelow = false;
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            String name = frame.getClassName();
            File file = isBelow ? sources.find(name.replace('.', '/'), frame.getFileName()) : null;
            if (file != null && !frame.getMethodName().equals(INITIALIZER)) {
                writers.put(path, json(base.relativize(file.toPath().toAbsolutePath()).toString(), frame.getLineNumber(), name, frame.getMethodName()));
                return;
            }
            isBelow |= name.equals(type) && frame.getMethodName().equals(INITIALIZER);
        }
    }

    private static JsonObject json(String file, int line, String type, String method) {
        String function = type.substring(type.lastIndexOf('.') + 1).replace('$', '.') + "." + method;
        return new JsonObject().put("file", file).put("line", line).put("function", function);
    }
}
