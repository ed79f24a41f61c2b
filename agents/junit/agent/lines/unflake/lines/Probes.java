package unflake.lines;

import java.io.IOException;

/** Puts a probe before each line of a class. */
final class Probes implements Rewriter.Change {
    static final String PROBE = "unflake/lines/Probe";
    private static final int STATIC = 0x8;
    private static final int SYNTHETIC = 0x1000;

    private final Places places;
    private final int probe;

    Probes(Pool pool, Places places) throws IOException {
        this.places = places;
        probe = pool.addMethod(PROBE, "hit", "(I)V");
    }

    @Override
    public byte[] code(int access, String name, String descriptor, Code code) throws IOException {
        // What the compiler has made up has lines that nobody wrote there; but for the bodies of lambdas.
        if ((access & SYNTHETIC) != 0 && !name.startsWith("lambda$")) {
            return null;
        }
        try {
            return new Method(code, places, name, descriptor).probed(probe, (access & STATIC) != 0);
        } catch (Refused why) {
            places.unknown(name, why.getMessage());
            return null;
        }
    }
}
