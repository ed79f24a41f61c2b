package unflake.jvm.isolation;

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
import unflake.jvm.util.Streams;

/** The project's part of the class path. Classes are read once and kept for all class loaders. */
final class ClassPathCache {
    static final class CachedClass {
        final byte[] bytes;
        /** The jar or directory that contains the class. */
        final URL source;
        final Manifest manifest;

        private CachedClass(byte[] bytes, URL source, Manifest manifest) {
            this.bytes = bytes;
            this.source = source;
            this.manifest = manifest;
        }
    }

    final URL[] urls;
    /** Finds resources in jars and directories; it loads no classes. */
    private final URLClassLoader finder;
    private final Map<String, CachedClass> classes = new ConcurrentHashMap<>();

    ClassPathCache(URL[] urls) {
        this.urls = urls;
        finder = new URLClassLoader(urls, null);
    }

    /** Whether the class has been found here before. */
    boolean contains(String name) {
        return classes.containsKey(name);
    }

    /** Returns null for an unknown class. That is not cached, because tests may write classes. */
    CachedClass find(String name) {
        CachedClass cached = classes.get(name);
        if (cached != null) {
            return cached;
        }
        String path = name.replace('.', '/') + ".class";
        URL url = finder.findResource(path);
        if (url == null) {
            return null;
        }
        try {
            CachedClass read = read(url, path);
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

    private static CachedClass read(URL url, String path) throws IOException {
        URLConnection connection = url.openConnection();
        byte[] bytes;
        try (InputStream in = connection.getInputStream()) {
            bytes = Streams.readAll(in);
        }
        if (connection instanceof JarURLConnection) {
            JarURLConnection jar = (JarURLConnection) connection;
            return new CachedClass(bytes, jar.getJarFileURL(), jar.getManifest());
        }
        String root = url.toString();
        for (int level = path.length() - path.replace("/", "").length(); level >= 0; level--) {
            root = root.substring(0, root.lastIndexOf('/'));
        }
        return new CachedClass(bytes, new URL(root + "/"), null);
    }
}
