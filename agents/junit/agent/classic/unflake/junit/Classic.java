package unflake.junit;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.runner.Description;
import org.junit.runner.Request;
import org.junit.runner.RunWith;
import org.junit.runner.Runner;
import org.junit.runner.notification.RunNotifier;

/** Tests of JUnit 4, and of JUnit 3 as JUnit 4 runs them. */
public final class Classic implements Framework {
    private static final String PREFIX = "classic:";

    private final Module module;
    /** Made while listing and not used yet: what provides parameters runs once for both. */
    private final Map<String, Made> unused = new HashMap<>();

    /** A runner, and its tests by their names. To ask it for these makes them all anew, which takes as long as many a test. */
    private static final class Made {
        final Runner runner;
        final Map<String, Description> leaves;

        Made(Class<?> type) {
            runner = Request.aClass(type).getRunner();
            leaves = leaves(runner.getDescription());
        }
    }

    public Classic(Module module) {
        this.module = module;
    }

    @Override
    public boolean owns(String key) {
        return key.startsWith(PREFIX);
    }

    @Override
    public void list(List<Class<?>> classes, Listing listing) {
        if (!isInUse()) {
            return;
        }
        Groups groups = new Groups(module);
        for (Class<?> type : classes) {
            if (!isTest(type)) {
                continue;
            }
            Made made = new Made(type);
            unused.put(type.getName(), made);
            for (Map.Entry<String, Description> leaf : made.leaves.entrySet()) {
                Description test = leaf.getValue();
                if (!groups.have(test, type)) {
                    continue;
                }
                String owner = test.getClassName() == null ? type.getName() : test.getClassName();
                String name = test.getMethodName() == null ? test.getDisplayName() : test.getMethodName();
                listing.add(PREFIX + type.getName() + "/" + leaf.getKey(), owner, name);
            }
        }
    }

    /** On the JUnit Platform only where the project has the engine for it. */
    private boolean isInUse() {
        String provider = module.told.getProperty("providerConfiguration", "");
        return !provider.contains("junitplatform") || module.has("org.junit.vintage.engine.VintageTestEngine");
    }

    /** As Surefire decides it. */
    private static boolean isTest(Class<?> type) {
        if (Modifier.isAbstract(type.getModifiers())) {
            return false;
        }
        if (type.isAnnotationPresent(RunWith.class) || junit.framework.Test.class.isAssignableFrom(type)) {
            return true;
        }
        for (Class<?> one = type; one != null && one != Object.class; one = one.getSuperclass()) {
            for (Method method : one.getDeclaredMethods()) {
                boolean isSuite = method.getName().equals("suite") && Modifier.isStatic(method.getModifiers())
                        && method.getParameterCount() == 0 && junit.framework.Test.class.isAssignableFrom(method.getReturnType());
                if (isSuite || method.isAnnotationPresent(org.junit.Test.class)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The tests below, by their names; of those with the same name all but the first have a number. */
    static Map<String, Description> leaves(Description above) {
        Map<String, Description> found = new LinkedHashMap<>();
        addLeaves(above, found);
        return found;
    }

    static String unique(String displayed, Map<String, ?> found) {
        String name = displayed.replace("\n", "\\n").replace("\r", "\\r");
        String unique = name;
        for (int again = 2; found.containsKey(unique); again++) {
            unique = name + " #" + again;
        }
        return unique;
    }

    private static void addLeaves(Description one, Map<String, Description> found) {
        if (one.isTest()) {
            found.put(unique(one.getDisplayName(), found), one);
        }
        one.getChildren().forEach(child -> addLeaves(child, found));
    }

    /** Neighbours of one class share its set-up. */
    @Override
    public void run(List<Wanted> tests, Report report) throws Exception {
        int at = 0;
        while (at < tests.size()) {
            String type = typeOf(tests.get(at));
            int end = at;
            while (end < tests.size() && typeOf(tests.get(end)).equals(type)) {
                end++;
            }
            List<Wanted> left = tests.subList(at, end);
            while (!left.isEmpty()) {
                left = left.subList(runSome(type, left, report), left.size());
            }
            at = end;
        }
    }

    private static String typeOf(Wanted test) {
        return test.key.substring(PREFIX.length(), test.key.indexOf('/'));
    }

    private static String nameOf(Wanted test) {
        return test.key.substring(test.key.indexOf('/') + 1);
    }

    /** Runs as many of them as can be run together, and says how many these were. */
    private int runSome(String type, List<Wanted> tests, Report report) throws Exception {
        report.before(tests.get(0));
        Made listed = unused.remove(type);
        Made made = listed != null ? listed : new Made(module.load(type));
        Runner runner = made.runner;
        List<Description> order = new ArrayList<>();
        for (Wanted test : tests) {
            Description leaf = made.leaves.get(nameOf(test));
            if (leaf == null) {
                break;
            }
            order.add(leaf);
        }
        if (order.isEmpty()) {
            report.start(tests.get(0), type);
            report.notSetUp(tests.get(0), new IllegalStateException("its class does not have it any more: " + nameOf(tests.get(0))));
            return 1;
        }
        int arranged = Arrangement.of(runner, order);
        if (arranged == 0) {
            List<String> names = new ArrayList<>();
            tests.subList(0, order.size()).forEach(test -> names.add(nameOf(test)));
            Runner oldest = Oldest.of(type, runner, names, () -> Request.aClass(module.load(type)).getRunner());
            arranged = oldest != null ? order.size() : 1;
            runner = oldest != null ? oldest : Request.runner(runner).filterWith(order.get(0)).getRunner();
        }
        RunNotifier notifier = new RunNotifier();
        Listener listener = new Listener(type, tests.subList(0, arranged), order, report);
        notifier.addListener(listener);
        report.announce(tests.get(0), type);
        runner.run(notifier);
        listener.end();
        return arranged;
    }
}
