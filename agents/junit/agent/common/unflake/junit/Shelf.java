package unflake.junit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.util.Enumeration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.jar.Manifest;
import unflake.lines.Bytes;

/** The project's part of the class path. What has been read of it stays in memory, once for all class loaders. */
final class Shelf {
    /** A class as it was read. */
    static final class Kept {
        final byte[] bytes;
        /** The jar or the directory it is from. */
        final URL source;
        final Manifest manifest;

        private Kept(byte[] bytes, URL source, Manifest manifest) {
            this.bytes = bytes;
            this.source = source;
            this.manifest = manifest;
        }
    }

    final URL[] places;
    /** Finds files in jars and directories as a class loader does, and loads no class. */
    private final URLClassLoader finder;
    private final Map<String, Kept> classes = new ConcurrentHashMap<>();

    Shelf(URL[] places) {
        this.places = places;
        finder = new URLClassLoader(places, null);
    }

    /** Whether it is known that a class is from here. */
    boolean has(String name) {
        return classes.containsKey(name);
    }

    /** Null: it is not here. That is not remembered, since tests may write classes. */
    Kept find(String name) {
        Kept known = classes.get(name);
        if (known != null) {
            return known;
        }
        String path = name.replace('.', '/') + ".class";
        URL url = finder.findResource(path);
        if (url == null) {
            return null;
        }
        try {
            Kept read = read(url, path);
            classes.put(name, read);
            return read;
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    URL resource(String name) {
        return finder.findResource(name);
    }

    Enumeration<URL> resources(String name) throws IOException {
        return finder.findResources(name);
    }

    private static Kept read(URL url, String path) throws IOException {
        URLConnection connection = url.openConnection();
        byte[] bytes;
        try (InputStream in = connection.getInputStream()) {
            bytes = Bytes.of(in);
        }
        if (connection instanceof JarURLConnection) {
            JarURLConnection jar = (JarURLConnection) connection;
            return new Kept(bytes, jar.getJarFileURL(), jar.getManifest());
        }
        String root = url.toString();
        for (int at = path.length() - path.replace("/", "").length(); at >= 0; at--) {
            root = root.substring(0, root.lastIndexOf('/'));
        }
        return new Kept(bytes, new URL(root + "/"), null);
    }
}
