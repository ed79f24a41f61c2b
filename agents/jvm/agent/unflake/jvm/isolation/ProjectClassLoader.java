package unflake.jvm.isolation;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.CodeSource;
import java.security.cert.Certificate;
import java.util.Enumeration;

/**
 * Loads the project's classes anew for one test, so that no static state is shared. JUnit and this
 * agent are in the parent and shared. It is a {@link URLClassLoader} for code that scans the URLs
 * of its class loader.
 */
final class ProjectClassLoader extends URLClassLoader {
    static {
        registerAsParallelCapable();
    }

    private final ClassPathCache cache;

    ProjectClassLoader(ClassPathCache cache, ClassLoader parent) {
        super(cache.urls, parent);
        this.cache = cache;
    }

    /** Skips the parent for classes that are known to be the project's. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!cache.contains(name)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        ClassPathCache.CachedClass cached = cache.find(name);
        if (cached == null) {
            throw new ClassNotFoundException(name);
        }
        int end = name.lastIndexOf('.');
        if (end > 0) {
            definePackage(name.substring(0, end), cached);
        }
        return defineClass(name, cached.bytes, 0, cached.bytes.length, new CodeSource(cached.source, (Certificate[]) null));
    }

    private void definePackage(String name, ClassPathCache.CachedClass cached) {
        if (getPackage(name) != null) {
            return;
        }
        try {
            if (cached.manifest != null) {
                definePackage(name, cached.manifest, cached.source);
            } else {
                definePackage(name, null, null, null, null, null, null, null);
            }
        } catch (IllegalArgumentException alreadyDefined) {
            // Another thread has defined it.
        }
    }

    @Override
    public URL findResource(String name) {
        return cache.resource(name);
    }

    @Override
    public Enumeration<URL> findResources(String name) throws IOException {
        return cache.resources(name);
    }
}
