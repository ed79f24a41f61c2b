package unflake.jvm.state;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.jvm.util.JvmAccess;
import unflake.jvm.util.ValueFormatter;

/**
 * Which classes the tests initialize. Their earlier state is known only if they are initialized
 * first. That can change what they compute, so each of them is a cell: restoring it means to
 * initialize the class before the tests.
 */
final class ClassInitialization {
    private static final int NAMED = 3;

    private final JvmAccess jvm;
    private final Set<String> initialized = new LinkedHashSet<>();
    /** Classes that were initialized for the probe, and what their fields were then. */
    private final Map<String, StateCell> early = new LinkedHashMap<>();
    final List<String> unknown = new ArrayList<>();

    ClassInitialization(JvmAccess jvm) {
        this.jvm = jvm;
    }

    /** Initializes these classes, unless they are already. */
    void initialize(List<String> names) {
        for (String name : names) {
            try {
                Class<?> type = Class.forName(name, false, Thread.currentThread().getContextClassLoader());
                boolean isEarly = !jvm.isInitialized(type);
                Class.forName(name, true, type.getClassLoader());
                if (isEarly && !ObjectShape.isJdk(type)) {
                    early.put(name, cell(type));
                }
            } catch (Throwable error) {
                unknown.add(name + " could not be initialized before the tests: " + error);
            }
        }
    }

    void remember() {
        StaticFields.sourceClasses(jvm).forEach(type -> initialized.add(type.getName()));
    }

    /** The classes that have been initialized since, those of the project first. */
    List<Class<?>> late() {
        List<Class<?>> late = StaticFields.sourceClasses(jvm);
        late.removeIf(type -> initialized.contains(type.getName()) || FieldAccess.declaredStatics(type).isEmpty());
        return late;
    }

    /** The classes that were initialized for the probe, and those that the tests initialized. */
    List<StateCell> cells() {
        List<StateCell> cells = new ArrayList<>(early.values());
        List<Class<?>> late = late();
        late.forEach(type -> cells.add(cell(type)));
        StringBuilder names = new StringBuilder();
        for (Class<?> type : late.subList(0, Math.min(NAMED, late.size()))) {
            names.append(names.length() == 0 ? "" : ", ").append(StaticFields.sourceName(type));
        }
        if (!late.isEmpty()) {
            String more = late.size() > NAMED ? " and " + (late.size() - NAMED) + " more" : "";
            unknown.add(names + more + (late.size() == 1 ? " was" : " were") + " initialized only by the tests: the earlier state is unknown");
        }
        return cells;
    }

    static String path(String className) {
        return "class " + className;
    }

    /** The parts are the fields as they are now. */
    private static StateCell cell(Class<?> type) {
        StateCell cell = new StateCell(path(type.getName()), "class initialization", null, null, null, () -> { });
        cell.isPreset = true;
        cell.inside = new ArrayList<>();
        for (Field field : FieldAccess.declaredStatics(type)) {
            String text = ValueFormatter.format(FieldAccess.read(null, field), 1);
            String path = StaticFields.sourceName(type) + "." + field.getName();
            cell.inside.add(new StateCell(path, "static field", null, text, "the class sets it when it is initialized", null));
        }
        return cell;
    }
}
