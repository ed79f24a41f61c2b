package unflake.junit;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** A JVM in which every field can be read: the modules of the JDK are opened to us, where there are modules. */
final class Opened {
    private final Instrumentation jvm;
    private final Object unsafe;
    private final Method shouldBeInitialized;

    Opened(Instrumentation jvm) throws ReflectiveOperationException {
        this.jvm = jvm;
        openModules();
        Class<?> type = modern() ? Class.forName("jdk.internal.misc.Unsafe") : Class.forName("sun.misc.Unsafe");
        Field the = type.getDeclaredField("theUnsafe");
        the.setAccessible(true);
        unsafe = the.get(null);
        shouldBeInitialized = type.getMethod("shouldBeInitialized", Class.class);
        shouldBeInitialized.setAccessible(true);
    }

    private static boolean modern() {
        try {
            Class.forName("java.lang.Module");
            return true;
        } catch (ClassNotFoundException older) {
            return false;
        }
    }

    /** By names alone: this is compiled for Java 8, which has no modules. */
    private void openModules() throws ReflectiveOperationException {
        if (!modern()) {
            return;
        }
        Class<?> module = Class.forName("java.lang.Module");
        Class<?> layer = Class.forName("java.lang.ModuleLayer");
        Method of = Class.class.getMethod("getModule");
        Object ours = of.invoke(Opened.class);
        Method redefine = Instrumentation.class.getMethod(
                "redefineModule", module, Set.class, Map.class, Map.class, Set.class, Map.class);
        Collection<?> all = (Collection<?>) layer.getMethod("modules").invoke(layer.getMethod("boot").invoke(null));
        for (Object one : all) {
            Map<String, Set<Object>> opens = new HashMap<>();
            for (Object name : (Set<?>) module.getMethod("getPackages").invoke(one)) {
                opens.put((String) name, Collections.singleton(ours));
            }
            redefine.invoke(jvm, one, Collections.emptySet(), Collections.emptyMap(), opens, Collections.emptySet(),
                    Collections.emptyMap());
        }
    }

    Class<?>[] loaded() {
        return jvm.getAllLoadedClasses();
    }

    /** To read a static field of one that is not would initialise it. */
    boolean isInitialised(Class<?> type) {
        try {
            return !(Boolean) shouldBeInitialized.invoke(unsafe, type);
        } catch (ReflectiveOperationException | RuntimeException odd) {
            return false;
        }
    }
}
