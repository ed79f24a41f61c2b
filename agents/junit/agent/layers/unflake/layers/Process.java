package unflake.layers;

import java.lang.management.ManagementFactory;

/** This process. */
final class Process {
    private Process() {
    }

    /** Its number, by a way that all JDKs have. */
    static String number() {
        String name = ManagementFactory.getRuntimeMXBean().getName();
        int end = name.indexOf('@');
        return end < 0 ? name : name.substring(0, end);
    }
}
