package unflake.junit;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;

/** The room for classes. Somebody may hold class loaders that nobody needs any more: a thread, a list of the JDK's. */
final class Room {
    private static final long MOST = 384L << 20;

    private final MemoryPoolMXBean classes = find();

    private static MemoryPoolMXBean find() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                return pool;
            }
        }
        return null;
    }

    /** Whether it is filled with what does not go away. */
    boolean isScarce() {
        if (classes == null || used() < most()) {
            return false;
        }
        System.gc();
        return used() > most() / 2;
    }

    private long used() {
        return classes.getUsage().getUsed();
    }

    private long most() {
        MemoryUsage usage = classes.getUsage();
        return usage.getMax() < 0 ? MOST : Math.min(MOST, usage.getMax() / 4 * 3);
    }
}
