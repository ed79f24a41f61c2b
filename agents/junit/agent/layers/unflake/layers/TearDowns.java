package unflake.layers;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Set;
import unflake.lines.Beginnings;
import unflake.lines.Head;
import unflake.lines.Loaders;

/** Has methods that clear up after a test say that they begin: what they are about to take from the screen can be seen for the last time. */
public final class TearDowns implements ClassFileTransformer {
    private static final String HERE = "unflake/layers/TearDowns";

    private final Loaders loaders = new Loaders(TearDowns.class);

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
        if (name == null || loader == null || name.startsWith("unflake/")) {
            return null;
        }
        try {
            byte[] changed = Beginnings.rewritten(bytes, TearDowns::told, HERE);
            return changed != null && loaders.find(loader) ? changed : null;
        } catch (Throwable problem) {
            // It runs as it is: the screen is looked at when it has ended.
            return null;
        }
    }

    private static String told(Head method) {
        String whole = method.name() + method.descriptor();
        switch (whole) {
            case "afterEach(Lorg/junit/jupiter/api/extension/ExtensionContext;)V":
                return "begins";
            case "tearDown()V":
            case "after()V":
                return "mayBegin";
            default:
                Set<String> annotations = method.annotations();
                boolean isOne = annotations.contains("Lorg/junit/jupiter/api/AfterEach;") || annotations.contains("Lorg/junit/After;");
                return isOne ? "begins" : null;
        }
    }

    /** Called by what clears up. */
    public static void begins(Object it) {
        Layers.clearing();
    }

    /** Called by what has the name of such a method: whether it is one depends on what it is a method of. */
    public static void mayBegin(Object it) {
        for (Class<?> type = it.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals("junit.framework.TestCase") || type.getName().equals("org.junit.rules.ExternalResource")) {
                begins(it);
            }
        }
    }
}
