package unflake.jvm.seeds;

import java.lang.instrument.Instrumentation;

/** Entry point of {@code -javaagent} in JVMs that unflake does not start itself. */
public final class SeedAgent {
    private SeedAgent() {
    }

    public static void premain(String ignored, Instrumentation jvm) {
        try {
            RandomSeeds.install(jvm);
            UnspecifiedOrder.install(jvm);
        } catch (Throwable error) {
            // The program runs all the same, with seeds of its own.
            System.err.println("unflake: random numbers and orders of this JVM do not follow the seed: " + error);
        }
    }
}
