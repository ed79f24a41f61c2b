package unflake.jvm.junit4;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.runner.Description;
import org.junit.runner.Runner;

/** Makes a JUnit 4 runner run the requested children, as often and in the order requested. */
final class ChildOrder {
    private static final String PARENT_RUNNER = "org.junit.runners.ParentRunner";

    private ChildOrder() {
    }

    /** Returns how many tests the runner will run; 0 if its order cannot be set. */
    static int apply(Runner runner, List<Description> order) throws ReflectiveOperationException {
        Class<?> type = parentRunner(runner);
        if (type == null || field(type) == null && method(type, "setScheduler", 1) == null) {
            return 0;
        }
        List<?> all = (List<?>) method(type, "getChildren", 0).invoke(runner);
        Map<Description, Object> children = byTest(type, runner, all);
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
            set(type, runner, all, chosen);
        }
        return count;
    }

    /** JUnit 4.4 does not have this class. */
    private static Class<?> parentRunner(Runner runner) {
        Class<?> type = runner.getClass();
        while (type != null && !type.getName().equals(PARENT_RUNNER)) {
            type = type.getSuperclass();
        }
        return type;
    }

    /** Maps each test to the first child that is or contains it. */
    private static Map<Description, Object> byTest(Class<?> type, Runner runner, List<?> all) throws ReflectiveOperationException {
        Method describe = method(type, "describeChild", 1);
        Map<Description, Object> children = new HashMap<>();
        for (Object child : all) {
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

    private static Method method(Class<?> type, String name, int parameters) {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters) {
                method.setAccessible(true);
                return method;
            }
        }
        return null;
    }

    /** The field that filters and sorters of JUnit set. Versions before 4.9 compute the children. */
    private static Field field(Class<?> type) {
        for (Field field : type.getDeclaredFields()) {
            if (field.getName().equals("filteredChildren") || field.getName().equals("fFilteredChildren")) {
                field.setAccessible(true);
                return field;
            }
        }
        return null;
    }

    private static void set(Class<?> type, Runner runner, List<?> all, List<Object> chosen) throws ReflectiveOperationException {
        Field field = field(type);
        if (field != null) {
            field.set(runner, chosen);
            return;
        }
        List<Integer> positions = new ArrayList<>();
        chosen.forEach(child -> positions.add(position(all, child)));
        Method setScheduler = method(type, "setScheduler", 1);
        Class<?> scheduler = setScheduler.getParameterTypes()[0];
        Object reordering = Proxy.newProxyInstance(scheduler.getClassLoader(), new Class<?>[] {scheduler}, new Reordering(positions));
        setScheduler.invoke(runner, reordering);
    }

    private static int position(List<?> all, Object child) {
        for (int index = 0; index < all.size(); index++) {
            if (all.get(index) == child) {
                return index;
            }
        }
        throw new IllegalStateException("the runner has no child " + child);
    }

    /** A scheduler of JUnit 4.7 and later: gets all children in their order, and then runs some. */
    private static final class Reordering implements InvocationHandler {
        private final List<Integer> positions;
        private final List<Runnable> children = new ArrayList<>();

        Reordering(List<Integer> positions) {
            this.positions = positions;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            if (method.getName().equals("schedule")) {
                children.add((Runnable) arguments[0]);
            } else if (method.getName().equals("finished")) {
                positions.forEach(position -> children.get(position).run());
            }
            return null;
        }
    }
}
