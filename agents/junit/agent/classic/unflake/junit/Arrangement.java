package unflake.junit;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.runner.Description;
import org.junit.runner.Runner;
import org.junit.runners.ParentRunner;

/** Has a runner run what is wanted, as often and in the order that it is wanted. */
final class Arrangement {
    private Arrangement() {
    }

    /** How many of these it will run, from the first on. 0: it cannot be told such things. */
    static int of(Runner runner, List<Description> order) throws ReflectiveOperationException {
        if (!(runner instanceof ParentRunner)) {
            return 0;
        }
        Map<Description, Object> children = children(runner);
        List<Object> chosen = new ArrayList<>();
        int done = 0;
        while (done < order.size()) {
            Object child = children.get(order.get(done));
            if (child == null) {
                break;
            }
            if (!(child instanceof Runner)) {
                chosen.add(child);
                done++;
                continue;
            }
            if (chosen.contains(child)) {
                // It has its own order already.
                break;
            }
            int below = of((Runner) child, order.subList(done, order.size()));
            if (below == 0) {
                break;
            }
            chosen.add(child);
            done += below;
        }
        if (done > 0) {
            set((ParentRunner<?>) runner, chosen);
        }
        return done;
    }

    /** By each test the child that it is, or that has it: the first, where there are several. */
    private static Map<Description, Object> children(Runner runner) throws ReflectiveOperationException {
        Method describe = method("describeChild", 1);
        Map<Description, Object> found = new HashMap<>();
        for (Object child : (List<?>) method("getChildren", 0).invoke(runner)) {
            add((Description) describe.invoke(runner, child), child, found);
        }
        return found;
    }

    private static void add(Description above, Object child, Map<Description, Object> found) {
        if (above.isTest()) {
            found.putIfAbsent(above, child);
        }
        above.getChildren().forEach(below -> add(below, child, found));
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

    /** The field that a filter and a sorter work on. */
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
