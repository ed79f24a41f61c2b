package unflake.jvm.junit4;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.runner.Description;
import org.junit.runner.Runner;
import org.junit.runners.ParentRunner;

/** Makes a JUnit 4 runner run the requested children, as often and in the order requested. */
final class ChildOrder {
    private ChildOrder() {
    }

    /** Returns how many tests the runner will run; 0 if its order cannot be set. */
    static int apply(Runner runner, List<Description> order) throws ReflectiveOperationException {
        if (!(runner instanceof ParentRunner)) {
            return 0;
        }
        Map<Description, Object> children = children(runner);
        List<Object> chosen = new ArrayList<>();
        int count = 0;
        while (count < order.size()) {
            Object child = children.get(order.get(count));
            if (child == null) {
                break;
            }
            if (!(child instanceof Runner)) {
                chosen.add(child);
                count++;
                continue;
            }
            if (chosen.contains(child)) {
                // A nested runner appears once: its own order is already set.
                break;
            }
            int nested = apply((Runner) child, order.subList(count, order.size()));
            if (nested == 0) {
                break;
            }
            chosen.add(child);
            count += nested;
        }
        if (count > 0) {
            set((ParentRunner<?>) runner, chosen);
        }
        return count;
    }

    /** Maps each test to the first child that is or contains it. */
    private static Map<Description, Object> children(Runner runner) throws ReflectiveOperationException {
        Method describe = method("describeChild", 1);
        Map<Description, Object> children = new HashMap<>();
        for (Object child : (List<?>) method("getChildren", 0).invoke(runner)) {
            add((Description) describe.invoke(runner, child), child, children);
        }
        return children;
    }

    private static void add(Description description, Object child, Map<Description, Object> children) {
        if (description.isTest()) {
            children.putIfAbsent(description, child);
        }
        description.getChildren().forEach(nested -> add(nested, child, children));
    }

    private static Method method(String name, int parameters) throws NoSuchMethodException {
        for (Method method : ParentRunner.class.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException("ParentRunner." + name);
    }

    /** The field that JUnit's filters and sorters set. */
    private static void set(ParentRunner<?> runner, List<Object> children) throws ReflectiveOperationException {
        for (Field field : ParentRunner.class.getDeclaredFields()) {
            if (field.getName().equals("filteredChildren") || field.getName().equals("fFilteredChildren")) {
                field.setAccessible(true);
                field.set(runner, children);
                return;
            }
        }
        throw new NoSuchFieldException("ParentRunner.filteredChildren");
    }
}
