package unflake.jvm.state;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Access to every field of the JVM: opens the modules of the JDK to this agent. */
final class JvmAccess {
    private final Instrumentation jvm;
    private final Object unsafe;
    private final Method shouldBeInitialized;

    JvmAccess(Instrumentation jvm) throws ReflectiveOperationException {
        this.jvm = jvm;
        openModules();
        Class<?> type = hasModules() ? Class.forName("jdk.internal.misc.Unsafe") : Class.forName("sun.misc.Unsafe");
        Field instance = type.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        unsafe = instance.get(null);
        shouldBeInitialized = type.getMethod("shouldBeInitialized", Class.class);
        shouldBeInitialized.setAccessible(true);
    }

    private static boolean hasModules() {
        try {
            Class.forName("java.lang.Module");
            return true;
        } catch (ClassNotFoundException older) {
            return false;
        }
    }

    /** Uses reflection, because this class is compiled for Java 8, which has no modules. */
    private void openModules() throws ReflectiveOperationException {
        if (!hasModules()) {
            return;
        }
        Class<?> module = Class.forName("java.lang.Module");
        Class<?> layer = Class.forName("java.lang.ModuleLayer");
        Method getModule = Class.class.getMethod("getModule");
        Object agentModule = getModule.invoke(JvmAccess.class);
        Method redefine = Instrumentation.class.getMethod(
                "redefineModule", module, Set.class, Map.class, Map.class, Set.class, Map.class);
        Collection<?> modules = (Collection<?>) layer.getMethod("modules").invoke(layer.getMethod("boot").invoke(null));
        for (Object each : modules) {
            Map<String, Set<Object>> opens = new HashMap<>();
            for (Object name : (Set<?>) module.getMethod("getPackages").invoke(each)) {
                opens.put((String) name, Collections.singleton(agentModule));
            }
            redefine.invoke(jvm, each, Collections.emptySet(), Collections.emptyMap(), opens, Collections.emptySet(),
                    Collections.emptyMap());
        }
    }

    Class<?>[] loadedClasses() {
        return jvm.getAllLoadedClasses();
    }

    /** Reading a static field of a class that is not initialized would initialize it. */
    boolean isInitialized(Class<?> type) {
        try {
            return !(Boolean) shouldBeInitialized.invoke(unsafe, type);
        } catch (ReflectiveOperationException | RuntimeException unknown) {
            return false;
        }
    }
}
