package unflake.jvm.bytecode;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/** Whether classes of a class loader can call a class of this agent. */
public final class LoaderVisibility {
    private final Class<?> agentClass;
    private final Map<ClassLoader, Boolean> known = Collections.synchronizedMap(new WeakHashMap<>());

    public LoaderVisibility(Class<?> agentClass) {
        this.agentClass = agentClass;
    }

    public boolean canSee(ClassLoader loader) {
        // Asked without holding the lock of the map: loading a class may wait for another thread.
        Boolean visible = known.get(loader);
        if (visible == null) {
            visible = lookUp(loader);
            known.put(loader, visible);
        }
        return visible;
    }

    private boolean lookUp(ClassLoader loader) {
        try {
            return Class.forName(agentClass.getName(), false, loader) == agentClass;
        } catch (ClassNotFoundException | LinkageError invisible) {
            return false;
        }
    }
}
