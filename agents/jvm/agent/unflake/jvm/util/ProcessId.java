package unflake.jvm.util;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/** The id of this process, on every JDK. */
public final class ProcessId {
    private ProcessId() {
    }

    /** Reads {@code /proc}, which loads fewer classes than the management interface. */
    public static String get() {
        try {
            String name = new File("/proc/self").getCanonicalFile().getName();
            if (name.matches("[0-9]+")) {
                return name;
            }
        } catch (IOException unreadable) {
            // Use the management interface.
        }
        String name = ManagementFactory.getRuntimeMXBean().getName();
        int end = name.indexOf('@');
        return end < 0 ? name : name.substring(0, end);
    }
}
