package unflake.jvm.seeds;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/**
 * Orders that the JDK leaves open, as the world sets them: of hash maps and hash sets, and of what
 * reflection returns. All of them are permitted by the documentation of these classes.
 */
public final class UnspecifiedOrder {
    /** The order of iteration is turned around, or follows from a seed. */
    private final boolean isReversed;
    private final long seed;

    UnspecifiedOrder(String setting) {
        isReversed = setting.equals("reversed");
        seed = isReversed ? 0 : Long.parseLong(setting);
    }

    /**
     * Bucket {@code i} is visited when {@code i * factor() + offset()} would be. For every power of
     * two this visits each bucket once, and a table of twice the size in a compatible order.
     */
    int factor() {
        return isReversed ? -1 : (int) SeededStream.mix(seed) | 1;
    }

    int offset() {
        return isReversed ? -1 : (int) SeededStream.mix(~seed);
    }

    boolean isReversed() {
        return isReversed;
    }

    int seed() {
        return (int) SeededStream.mix(seed + 1);
    }

    /** Does nothing in a world that sets no order. */
    public static void install(Instrumentation jvm) throws Exception {
        String settings = System.getenv("UNFLAKE_UNDER");
        UnspecifiedOrder ofCollections = find("collections", settings);
        UnspecifiedOrder ofMembers = find("members", settings);
        if (ofCollections == null && ofMembers == null) {
            return;
        }
        OrderInstrumenter instrumenter = new OrderInstrumenter(ofCollections, ofMembers);
        jvm.addTransformer(instrumenter, true);
        // All at once: a half-changed collection would be iterated in two orders.
        List<Class<?>> types = new ArrayList<>();
        for (String name : instrumenter.classes()) {
            types.add(Class.forName(name.replace('/', '.'), false, null));
        }
        jvm.retransformClasses(types.toArray(new Class<?>[0]));
        instrumenter.check();
    }

    /** A setting of the preloaded library, which ignores it. */
    static UnspecifiedOrder find(String name, String settings) {
        for (String word : settings == null ? new String[0] : settings.split(";")) {
            if (word.startsWith(name + "=")) {
                return new UnspecifiedOrder(word.substring(name.length() + 1));
            }
        }
        return null;
    }
}
