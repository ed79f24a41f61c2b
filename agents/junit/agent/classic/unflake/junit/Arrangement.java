package unflake.junit;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
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
        List<?> children = (List<?>) call(runner, "getChildren");
        List<Object> chosen = new ArrayList<>();
        int done = 0;
        while (done < order.size()) {
            Object child = childWith(runner, children, order.get(done));
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

    private static Object childWith(Runner runner, List<?> children, Description test) throws ReflectiveOperationException {
        for (Object child : children) {
            Description description = (Description) call(runner, "describeChild", child);
            if (has(description, test)) {
                return child;
            }
        }
        return null;
    }

    private static boolean has(Description above, Description test) {
        return above.isTest() ? above.equals(test) : above.getChildren().stream().anyMatch(child -> has(child, test));
    }

    private static Object call(Object runner, String name, Object... arguments) throws ReflectiveOperationException {
        for (Method method : ParentRunner.class.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                method.setAccessible(true);
                return method.invoke(runner, arguments);
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
