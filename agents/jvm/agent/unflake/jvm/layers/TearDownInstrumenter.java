package unflake.jvm.layers;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Set;
import unflake.jvm.bytecode.EntryInstrumenter;
import unflake.jvm.bytecode.LoaderVisibility;
import unflake.jvm.bytecode.MethodInfo;
import unflake.jvm.protocol.AgentError;

/** Instruments tear-down methods, so that windows are recorded before they are closed. */
public final class TearDownInstrumenter implements ClassFileTransformer {
    private static final String CALLBACK_CLASS = "unflake/jvm/layers/TearDownInstrumenter";

    private final LoaderVisibility visibility = new LoaderVisibility(TearDownInstrumenter.class);

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (name == null || loader == null || name.startsWith("unflake/")) {
            return null;
        }
        try {
            byte[] changed = EntryInstrumenter.instrument(bytes, TearDownInstrumenter::callback, CALLBACK_CLASS);
            return changed != null && visibility.canSee(loader) ? changed : null;
        } catch (Throwable error) {
            // The class stays unchanged; windows are then recorded after the tear-down.
            return null;
        }
    }

    private static String callback(MethodInfo method) throws IOException {
        Set<String> annotations = method.annotations();
        if (annotations.contains("Lorg/junit/jupiter/api/AfterEach;") || annotations.contains("Lorg/junit/After;")) {
            return "tearDown";
        }
        switch (method.name() + method.descriptor()) {
            case "afterEach(Lorg/junit/jupiter/api/extension/ExtensionContext;)V":
                return "tearDown";
            case "tearDown()V":
            case "after()V":
                return "possibleTearDown";
            default:
                return null;
        }
    }

    /** Called by tear-down methods. */
    public static void tearDown(Object target) {
        AgentError.guard(LayerRecorder::beforeTearDown);
    }

    /** Called by methods with the name of a tear-down method; the superclass decides. */
    public static void possibleTearDown(Object target) {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals("junit.framework.TestCase") || type.getName().equals("org.junit.rules.ExternalResource")) {
                tearDown(target);
            }
        }
    }
}
