package unflake.lines;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/** Class loaders, and whether what they load finds a class of ours. */
public final class Loaders {
    private final Class<?> ours;
    private final Map<ClassLoader, Boolean> known = Collections.synchronizedMap(new WeakHashMap<>());

    public Loaders(Class<?> ours) {
        this.ours = ours;
    }

    public boolean find(ClassLoader loader) {
        // Not asked while the map is held: who loads classes may have to wait for somebody who asks it.
        Boolean there = known.get(loader);
        if (there == null) {
            there = finds(loader);
            known.put(loader, there);
        }
        return there;
    }

    private boolean finds(ClassLoader loader) {
        try {
            return Class.forName(ours.getName(), false, loader) == ours;
        } catch (ClassNotFoundException | LinkageError hidden) {
            return false;
        }
    }
}
