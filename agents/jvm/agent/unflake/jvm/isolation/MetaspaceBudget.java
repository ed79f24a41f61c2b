package unflake.jvm.isolation;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;

/** Watches metaspace. Threads and JDK registries can keep class loaders of finished tests alive. */
final class MetaspaceBudget {
    private static final long LIMIT = 384L << 20;

    private final MemoryPoolMXBean metaspace = findPool();

    private static MemoryPoolMXBean findPool() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                return pool;
            }
        }
        return null;
    }

    /** Whether metaspace is full of classes that garbage collection cannot unload. */
    boolean isExhausted() {
        if (metaspace == null || used() < limit()) {
            return false;
        }
        System.gc();
        return used() > limit() / 2;
    }

    private long used() {
        return metaspace.getUsage().getUsed();
    }

    private long limit() {
        MemoryUsage usage = metaspace.getUsage();
        return usage.getMax() < 0 ? LIMIT : Math.min(LIMIT, usage.getMax() / 4 * 3);
    }
}
