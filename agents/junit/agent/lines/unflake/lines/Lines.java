package unflake.lines;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Has the lines of the project recorded that the threads of this process come to. The project's are those classes whose
 * sources are below the directories that it is told.
 */
public final class Lines implements ClassFileTransformer {
    static Part part;

    private final List<File> roots = new ArrayList<>();
    /** By package, with slashes: where it has sources. */
    private final Map<String, List<File>> packages = new ConcurrentHashMap<>();
    private final Loaders loaders = new Loaders(Probe.class);

    private Lines(List<String> roots) {
        for (String root : roots) {
            this.roots.add(new File(root));
        }
    }

    /** {@code path}: a file with a directory of sources in each line. Where no trace is wanted, nothing happens. */
    public static void begin(String path, boolean withValues, Instrumentation jvm) throws IOException {
        String attempt = System.getenv("UNFLAKE_TRACE");
        if (attempt != null) {
            part = new Part(new File(attempt), withValues, limit("UNFLAKE_TRACE_THREAD_EVENTS", 1 << 24), limit("UNFLAKE_TRACE_EVENTS", 1 << 26));
            Probe.begin();
            jvm.addTransformer(new Lines(Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8)));
        }
    }

    private static long limit(String name, long otherwise) {
        String told = System.getenv(name);
        return told == null ? otherwise : Long.parseLong(told);
    }

    /** The last test is over. */
    public static void end() {
        if (part != null) {
            part.end();
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
        if (name == null || loader == null || sources(name).isEmpty()) {
            return null;
        }
        try {
            return probed(loader, bytes);
        } catch (Throwable problem) {
            // Whatever is wrong with it: it runs as it is, and that is said.
            part.note(name.replace('/', '.') + " is not traced: " + problem);
            return null;
        }
    }

    private byte[] probed(ClassLoader loader, byte[] bytes) throws IOException {
        Rewriter rewriter = new Rewriter(bytes);
        String name = rewriter.name();
        String source = rewriter.source();
        for (File folder : sources(name)) {
            File file = source == null ? null : new File(folder, source);
            if (file != null && file.isFile()) {
                if (!loaders.find(loader)) {
                    throw new Refused("its class loader does not let it see anything of unflake");
                }
                Places places = new Places(part, name, file.getPath());
                byte[] probed = rewriter.rewritten(new Probes(rewriter.pool, places));
                part.add(places);
                return probed;
            }
        }
        return null;
    }

    /** Where sources of the package of this class are. */
    private List<File> sources(String name) {
        int end = name.lastIndexOf('/');
        return packages.computeIfAbsent(end < 0 ? "" : name.substring(0, end), this::foldersOf);
    }

    private List<File> foldersOf(String name) {
        List<File> folders = new ArrayList<>();
        for (File root : roots) {
            File folder = new File(root, name);
            if (folder.isDirectory()) {
                folders.add(folder);
            }
        }
        return folders;
    }
}
