package unflake.jvm.trace;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.List;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.LoaderVisibility;
import unflake.jvm.bytecode.UnsupportedCodeException;
import unflake.jvm.util.SourceFolders;

/**
 * Records the lines that the threads of this process execute in project classes: those whose source
 * file is below the configured directories.
 */
public final class LineTracer implements ClassFileTransformer {
    static ProcessTrace trace;

    private final SourceFolders sources;
    private final LoaderVisibility visibility = new LoaderVisibility(TraceProbe.class);

    private LineTracer(List<String> roots) {
        sources = new SourceFolders(roots);
    }

    /**
     * {@code path}: a file with one source directory per line. Does nothing unless a trace is
     * requested.
     */
    public static void install(String path, boolean withValues, Instrumentation jvm) throws IOException {
        String attempt = System.getenv("UNFLAKE_TRACE");
        if (attempt != null) {
            trace = new ProcessTrace(new File(attempt), withValues, limit("UNFLAKE_TRACE_THREAD_EVENTS", 1 << 24), limit("UNFLAKE_TRACE_EVENTS", 1 << 26));
            TraceProbe.initialize();
            jvm.addTransformer(new LineTracer(Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8)));
        }
    }

    private static long limit(String name, long fallback) {
        String value = System.getenv(name);
        return value == null ? fallback : Long.parseLong(value);
    }

    /** The last test is over. */
    public static void finish() {
        if (trace != null) {
            trace.finish();
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (name == null || loader == null || !sources.mayHave(name)) {
            return null;
        }
        try {
            return instrument(loader, bytes);
        } catch (Throwable error) {
            // The class runs unchanged, and the trace says so.
            trace.note(name.replace('/', '.') + " is not traced: " + error);
            return null;
        }
    }

    private byte[] instrument(ClassLoader loader, byte[] bytes) throws IOException {
        ClassRewriter rewriter = new ClassRewriter(bytes);
        String name = rewriter.className();
        File file = sources.find(name, rewriter.sourceFile());
        if (file == null) {
            return null;
        }
        if (!visibility.canSee(loader)) {
            throw new UnsupportedCodeException("its class loader hides unflake's classes");
        }
        PlaceTable table = new PlaceTable(trace, name, file.getPath());
        byte[] instrumented = rewriter.rewrite(new LineInstrumenter(rewriter.pool(), table));
        trace.append(table);
        return instrumented;
    }
}
