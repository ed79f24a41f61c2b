package unflake.lines;

import java.io.IOException;

/** Puts a probe before each line of a class. */
final class Probes implements Rewriter.Change {
    static final String PROBE = "unflake/lines/Probe";

    private final Places places;
    private final int probe;

    Probes(Pool pool, Places places) throws IOException {
        this.places = places;
        probe = pool.addMethod(PROBE, "hit", "(I)V");
    }

    @Override
    public byte[] code(Head method, Code code) throws IOException {
        String name = method.name();
        // What the compiler has made up has lines that nobody wrote there; but for the bodies of lambdas.
        if (method.isSynthetic() && !name.startsWith("lambda$")) {
            return null;
        }
        try {
            return new Method(code, places, name, method.descriptor()).probed(probe, method.isStatic());
        } catch (Refused why) {
            places.unknown(name, why.getMessage());
            return null;
        }
    }
}
