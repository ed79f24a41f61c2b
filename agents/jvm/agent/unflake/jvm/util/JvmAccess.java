package unflake.jvm.util;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Access to every field of the JVM: opens modules of the JDK to this agent. */
public final class JvmAccess {
    private final Instrumentation jvm;
    private final Object unsafe;
    private final Class<?> unsafeClass;
    private final Method shouldBeInitialized;

    /** Opens the modules of these names, or all. */
    public JvmAccess(Instrumentation jvm, String... modules) throws ReflectiveOperationException {
        this.jvm = jvm;
        openModules(Arrays.asList(modules));
        Class<?> type = hasModules() ? Class.forName("jdk.internal.misc.Unsafe") : Class.forName("sun.misc.Unsafe");
        Field instance = type.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        unsafe = instance.get(null);
        unsafeClass = type;
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
    private void openModules(List<String> names) throws ReflectiveOperationException {
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
            if (!names.isEmpty() && !names.contains(String.valueOf(module.getMethod("getName").invoke(each)))) {
                continue;
            }
            Map<String, Set<Object>> opens = new HashMap<>();
            for (Object name : (Set<?>) module.getMethod("getPackages").invoke(each)) {
                opens.put((String) name, Collections.singleton(agentModule));
            }
            redefine.invoke(jvm, each, Collections.emptySet(), Collections.emptyMap(), opens, Collections.emptySet(),
                    Collections.emptyMap());
        }
    }

    public Class<?>[] loadedClasses() {
        return jvm.getAllLoadedClasses();
    }

    /** Reading a static field of a class that is not initialized would initialize it. */
    public boolean isInitialized(Class<?> type) {
        try {
            return !(Boolean) shouldBeInitialized.invoke(unsafe, type);
        } catch (ReflectiveOperationException | RuntimeException unknown) {
            return false;
        }
    }

    /** Writes a static field, even if it is final. Compiled code may have the old value. */
    public void putStatic(Field field, Object value) throws ReflectiveOperationException {
        Object base = call("staticFieldBase", new Class<?>[] {Field.class}, field);
        Object offset = call("staticFieldOffset", new Class<?>[] {Field.class}, field);
        if (field.getType() == long.class) {
            call("putLong", new Class<?>[] {Object.class, long.class, long.class}, base, offset, value);
        } else if (field.getType() == boolean.class) {
            call("putBoolean", new Class<?>[] {Object.class, long.class, boolean.class}, base, offset, value);
        } else {
            call("putInt", new Class<?>[] {Object.class, long.class, int.class}, base, offset, value);
        }
    }

    private Object call(String name, Class<?>[] types, Object... values) throws ReflectiveOperationException {
        Method method = unsafeClass.getMethod(name, types);
        method.setAccessible(true);
        return method.invoke(unsafe, values);
    }
}
