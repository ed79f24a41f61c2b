package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Puts probes into every class of some jars, and has the JVM verify what comes of it. What does not verify as it was is left out.
 * To be run with {@code -Xverify:all} and the jars as its words.
 */
public final class EveryClass {
    private static final String HERE = "unflake/lines/EveryClass";

    private int verified;
    private int refused;
    private int absent;
    private int broken;

    private EveryClass() {
    }

    public static void main(String[] jars) throws Exception {
        File place = Files.createTempDirectory("every-class").toFile();
        EveryClass all = new EveryClass();
        int places = 0;
        for (boolean values : new boolean[] {false, true}) {
            Part part = new Part(place, values, 1, 1);
            for (String jar : jars) {
                all.look(jar, part);
            }
            places += part.number();
            for (File file : part.directory.listFiles()) {
                file.delete();
            }
            part.directory.delete();
        }
        place.delete();
        System.out.println(all.verified + " verified, " + all.refused + " refused, " + all.absent + " need classes that are not here, "
            + all.broken + " broken; " + places + " places");
        System.exit(all.broken == 0 && all.refused == 0 && all.verified > 0 ? 0 : 1);
    }

    /** With a probe at each line, around every method, catching what it throws where that can be, or at its beginning. */
    private static byte[] probed(byte[] type, Places places) throws IOException {
        Rewriter rewriter = new Rewriter(type);
        byte[] probed = rewriter.rewritten(new Probes(rewriter.pool, places));
        byte[] around = Around.rewritten(type, method -> method.name().startsWith("<") ? null : method.name() + method.descriptor(), said -> true, HERE);
        byte[] begun = Beginnings.rewritten(type, method -> method.name().startsWith("<") || method.annotations().contains("") ? null : "begins", HERE);
        byte[] one = new byte[][] {probed, around, begun}[places.table.length() % 3];
        return one == null ? probed : one;
    }

    private void look(String jar, Part part) throws IOException {
        Map<String, byte[]> plain = new HashMap<>();
        Map<String, byte[]> probed = new HashMap<>();
        for (Map.Entry<String, byte[]> one : classes(jar).entrySet()) {
            try {
                Places places = new Places(part, one.getKey(), "x");
                plain.put(one.getKey(), one.getValue());
                probed.put(one.getKey(), probed(one.getValue(), places));
                if (places.table.indexOf("note\t") >= 0) {
                    throw new Refused(places.table.substring(places.table.indexOf("note\t")));
                }
            } catch (RuntimeException why) {
                refused++;
                System.out.println(one.getKey() + " of " + jar + " is refused: " + why);
            }
        }
        ClassLoader before = new Given(plain);
        ClassLoader now = new Given(probed);
        for (String name : probed.keySet()) {
            Throwable was = problem(name, before);
            Throwable is = problem(name, now);
            if (is == null) {
                verified++;
            } else if (was != null && was.getClass() == is.getClass()) {
                absent++;
            } else {
                broken++;
                System.out.println(name + " of " + jar + ": " + is);
            }
        }
    }

    /** Asking for the methods of a class has it verified; none of its code runs. */
    private static Throwable problem(String name, ClassLoader loader) {
        try {
            Class.forName(name.replace('/', '.'), false, loader).getDeclaredMethods();
            return null;
        } catch (Throwable problem) {
            return problem;
        }
    }

    private static Map<String, byte[]> classes(String path) throws IOException {
        Map<String, byte[]> classes = new HashMap<>();
        try (JarFile jar = new JarFile(path)) {
            for (Enumeration<JarEntry> all = jar.entries(); all.hasMoreElements();) {
                JarEntry one = all.nextElement();
                String name = one.getName();
                if (name.endsWith(".class") && !name.startsWith("META-INF/") && !name.endsWith("module-info.class")) {
                    try (InputStream in = jar.getInputStream(one)) {
                        classes.put(name.substring(0, name.length() - 6), bytes(in));
                    }
                }
            }
        }
        return classes;
    }

    private static byte[] bytes(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] piece = new byte[8192];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            out.write(piece, 0, count);
        }
        return out.toByteArray();
    }

    /** Loads these classes, and others as always. */
    private static final class Given extends ClassLoader {
        private final Map<String, byte[]> classes;

        Given(Map<String, byte[]> classes) {
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
