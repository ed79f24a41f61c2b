package unflake.junit;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.CodeSource;
import java.security.cert.Certificate;
import java.util.Enumeration;

/**
 * Loads the project's classes anew, for one test: their static state is nobody else's. JUnit and this agent are above it, and shared.
 * It is one that tells its URLs, for those who look for classes there.
 */
final class Loader extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    private final Shelf shelf;

    Loader(Shelf shelf, ClassLoader above) {
        super(shelf.places, above);
        this.shelf = shelf;
    }

    /** What once was not found above need not be looked for there again. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!shelf.has(name)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        Shelf.Kept kept = shelf.find(name);
        if (kept == null) {
            throw new ClassNotFoundException(name);
        }
        int end = name.lastIndexOf('.');
        if (end > 0) {
            definePackage(name.substring(0, end), kept);
        }
        return defineClass(name, kept.bytes, 0, kept.bytes.length, new CodeSource(kept.source, (Certificate[]) null));
    }

    private void definePackage(String name, Shelf.Kept kept) {
        if (getPackage(name) != null) {
            return;
        }
        try {
            if (kept.manifest != null) {
                definePackage(name, kept.manifest, kept.source);
            } else {
                definePackage(name, null, null, null, null, null, null, null);
            }
        } catch (IllegalArgumentException faster) {
            // Another thread has done it.
        }
    }

    @Override
    public URL findResource(String name) {
        return shelf.resource(name);
    }

    @Override
    public Enumeration<URL> findResources(String name) throws IOException {
        return shelf.resources(name);
    }
}
