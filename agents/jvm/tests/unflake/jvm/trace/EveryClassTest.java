package unflake.jvm.trace;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.EntryInstrumenter;
import unflake.jvm.bytecode.MethodInstrumenter;
import unflake.jvm.bytecode.UnsupportedCodeException;
import unflake.jvm.layers.LayerProbes;
import unflake.jvm.util.Streams;

/**
 * Instruments every class of some jars and lets the JVM verify the result. Classes that the JVM
 * rejects without instrumentation, too, do not count. Run with {@code -Xverify:all} and the jars
 * as arguments.
 */
public final class EveryClassTest {
    private static final String CALLBACK_CLASS = "unflake/jvm/trace/EveryClassTest";

    private int verified;
    private int unsupported;
    private int incomplete;
    private int broken;

    private EveryClassTest() {
    }

    public static void main(String[] jars) throws Exception {
        File folder = Files.createTempDirectory("every-class").toFile();
        EveryClassTest test = new EveryClassTest();
        int places = 0;
        for (boolean withValues : new boolean[] {false, true}) {
            ProcessTrace trace = new ProcessTrace(folder, withValues, 1, 1);
            for (String jar : jars) {
                test.check(jar, trace);
            }
            places += trace.nextPlaceId();
            for (File file : trace.directory.listFiles()) {
                file.delete();
            }
            trace.directory.delete();
        }
        folder.delete();
        System.out.println(test.verified + " classes verified, " + test.unsupported + " unsupported, " + test.incomplete
            + " with missing dependencies, " + test.broken + " broken; " + places + " places");
        System.exit(test.broken == 0 && test.unsupported == 0 && test.verified > 0 ? 0 : 1);
    }

    /** By one of the four instrumenters; the number of places selects which. */
    private static byte[] instrument(byte[] type, PlaceTable table) throws IOException {
        ClassRewriter rewriter = new ClassRewriter(type);
        byte[] lines = rewriter.rewrite(new LineInstrumenter(rewriter.pool(), table));
        byte[] methods = MethodInstrumenter.instrument(type, method -> method.name().startsWith("<") ? null : method.name() + method.descriptor(), label -> true, CALLBACK_CLASS);
        byte[] entries = EntryInstrumenter.instrument(type, method -> method.name().startsWith("<") || method.annotations().contains("") ? null : "entered", CALLBACK_CLASS);
        byte[] layers = LayerProbes.instrument(type);
        byte[] selected = new byte[][] {lines, methods, entries, layers}[table.places.length() % 4];
        return selected == null ? lines : selected;
    }

    private void check(String jar, ProcessTrace trace) throws IOException {
        Map<String, byte[]> originals = new HashMap<>();
        Map<String, byte[]> instrumented = new HashMap<>();
        for (Map.Entry<String, byte[]> type : classes(jar).entrySet()) {
            try {
                PlaceTable table = new PlaceTable(trace, type.getKey(), "x");
                originals.put(type.getKey(), type.getValue());
                instrumented.put(type.getKey(), instrument(type.getValue(), table));
                if (table.places.indexOf("note\t") >= 0) {
                    throw new UnsupportedCodeException(table.places.substring(table.places.indexOf("note\t")));
                }
            } catch (RuntimeException reason) {
                unsupported++;
                System.out.println(type.getKey() + " of " + jar + " is unsupported: " + reason);
            }
        }
        ClassLoader before = new MapClassLoader(originals);
        ClassLoader after = new MapClassLoader(instrumented);
        for (String name : instrumented.keySet()) {
            Throwable oldError = verify(name, before);
            Throwable newError = verify(name, after);
            if (newError == null) {
                verified++;
            } else if (oldError != null && oldError.getClass() == newError.getClass()) {
                incomplete++;
            } else {
                broken++;
                System.out.println(name + " of " + jar + ": " + newError);
            }
        }
    }

    /** Asking a class for its methods verifies it without running its code. */
    private static Throwable verify(String name, ClassLoader loader) {
        try {
            Class.forName(name.replace('/', '.'), false, loader).getDeclaredMethods();
            return null;
        } catch (Throwable error) {
            return error;
        }
    }

    private static Map<String, byte[]> classes(String path) throws IOException {
        Map<String, byte[]> classes = new HashMap<>();
        try (JarFile jar = new JarFile(path)) {
            for (Enumeration<JarEntry> entries = jar.entries(); entries.hasMoreElements();) {
                JarEntry entry = entries.nextElement();
                String name = entry.getName();
                if (name.endsWith(".class") && !name.startsWith("META-INF/") && !name.endsWith("module-info.class")) {
                    try (InputStream in = jar.getInputStream(entry)) {
                        classes.put(name.substring(0, name.length() - 6), Streams.readAll(in));
                    }
                }
            }
        }
        return classes;
    }

    /** Defines the given classes itself and delegates the others. */
    private static final class MapClassLoader extends ClassLoader {
        private final Map<String, byte[]> classes;

        MapClassLoader(Map<String, byte[]> classes) {
            this.classes = classes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                byte[] bytes = loaded == null ? classes.get(name.replace('.', '/')) : null;
                if (loaded != null || bytes == null) {
                    return loaded != null ? loaded : super.loadClass(name, resolve);
                }
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }
}
