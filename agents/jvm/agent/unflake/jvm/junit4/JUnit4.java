package unflake.jvm.junit4;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.runner.Description;
import org.junit.runner.Request;
import org.junit.runner.RunWith;
import org.junit.runner.Runner;
import org.junit.runner.notification.RunNotifier;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;
import unflake.jvm.run.TestFramework;
import unflake.jvm.run.TestModule;
import unflake.jvm.run.UniqueNames;

/** Runs tests of JUnit 4, and of JUnit 3 through JUnit 4. */
public final class JUnit4 implements TestFramework {
    private static final String PREFIX = "classic:";
    /** A method and its class. */
    private static final Pattern NAME = Pattern.compile("([\\s\\S]*)\\((.*)\\)");

    private final TestModule module;
    /** Runners of the listing, not run yet: parameter providers run once for both. */
    private final Map<String, ListedClass> pending = new ConcurrentHashMap<>();
    /** Null if tests run one by one. */
    private ParallelClasses parallel;

    /**
     * A runner and its tests by name. Asking a runner for its tests computes them again, which can
     * take longer than running one.
     */
    private static final class ListedClass {
        final Runner runner;
        final Map<String, Description> leaves;

        ListedClass(Class<?> testClass) {
            runner = Request.aClass(testClass).getRunner();
            leaves = leaves(runner.getDescription());
        }
    }

    public JUnit4(TestModule module) {
        this.module = module;
    }

    @Override
    public boolean owns(String key) {
        return key.startsWith(PREFIX);
    }

    @Override
    public void list(List<Class<?>> classes, Listing listing) {
        if (!isEnabled()) {
            return;
        }
        CategoryFilter groups = new CategoryFilter(module);
        module.hasOwnOrder |= hasScheduler() && ParallelClasses.isConfigured(module);
        for (Class<?> testClass : classes) {
            if (!isTest(testClass)) {
                continue;
            }
            ListedClass listed = new ListedClass(testClass);
            pending.put(testClass.getName(), listed);
            for (Map.Entry<String, Description> leaf : listed.leaves.entrySet()) {
                Description test = leaf.getValue();
                if (!groups.accepts(test, testClass)) {
                    continue;
                }
                // Old versions of JUnit have no methods for the two parts.
                Matcher parts = NAME.matcher(test.getDisplayName());
                boolean isMethod = parts.matches();
                String owner = isMethod ? parts.group(2) : test.getDisplayName();
                String name = isMethod ? parts.group(1) : test.getDisplayName();
                listing.add(PREFIX + testClass.getName() + "/" + leaf.getKey(), owner, name);
            }
        }
    }

    /** On the JUnit Platform, JUnit 4 tests run only if the project has the Vintage engine. */
    private boolean isEnabled() {
        String provider = module.settings.getProperty("providerConfiguration", "");
        return !provider.contains("junitplatform") || module.hasClass("org.junit.vintage.engine.VintageTestEngine");
    }

    /** Surefire's own criteria. */
    private static boolean isTest(Class<?> testClass) {
        if (Modifier.isAbstract(testClass.getModifiers())) {
            return false;
        }
        if (testClass.isAnnotationPresent(RunWith.class) || junit.framework.Test.class.isAssignableFrom(testClass)) {
            return true;
        }
        for (Class<?> type = testClass; type != null && type != Object.class; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                boolean isSuite = method.getName().equals("suite") && Modifier.isStatic(method.getModifiers())
                        && method.getParameterCount() == 0 && junit.framework.Test.class.isAssignableFrom(method.getReturnType());
                if (isSuite || method.isAnnotationPresent(org.junit.Test.class)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The tests below by name; tests with the same name are numbered from the second on. */
    static Map<String, Description> leaves(Description description) {
        Map<String, Description> tests = new LinkedHashMap<>();
        addLeaves(description, tests);
        return tests;
    }

    private static void addLeaves(Description description, Map<String, Description> tests) {
        if (description.isTest()) {
            tests.put(UniqueNames.unique(description.getDisplayName(), tests), description);
        }
        description.getChildren().forEach(child -> addLeaves(child, tests));
    }

    /** Consecutive tests of one class share its set-up. */
    @Override
    public void run(List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        List<Runnable> runs = new ArrayList<>();
        int next = 0;
        while (next < tests.size()) {
            String testClass = classOf(tests.get(next));
            int end = next;
            while (end < tests.size() && classOf(tests.get(end)).equals(testClass)) {
                end++;
            }
            List<RequestedTest> together = tests.subList(next, end);
            classes.add(module.loadClass(testClass));
            runs.add(() -> AgentError.guard(() -> runClass(testClass, together, reporter)));
            next = end;
        }
        if (module.runsAsConfigured && hasScheduler() && ParallelClasses.isConfigured(module)) {
            reporter.runSideBySide(true);
            parallel = ParallelClasses.of(module);
            parallel.run(classes, runs);
        } else {
            runs.forEach(Runnable::run);
        }
    }

    private void runClass(String testClass, List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        List<RequestedTest> remaining = tests;
        while (!remaining.isEmpty()) {
            remaining = remaining.subList(runBatch(testClass, remaining, reporter), remaining.size());
        }
    }

    /** JUnit before 4.7 runs one test after the other. */
    private boolean hasScheduler() {
        return module.hasClass("org.junit.runners.model.RunnerScheduler");
    }

    private static String classOf(RequestedTest test) {
        return test.key.substring(PREFIX.length(), test.key.indexOf('/'));
    }

    private static String nameOf(RequestedTest test) {
        return test.key.substring(test.key.indexOf('/') + 1);
    }

    /** Runs as many of the tests as possible in one go and returns their number. */
    private int runBatch(String testClass, List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        reporter.beforeTest(tests.get(0));
        ListedClass cached = pending.remove(testClass);
        ListedClass listed = cached != null ? cached : new ListedClass(module.loadClass(testClass));
        Runner runner = listed.runner;
        List<Description> order = new ArrayList<>();
        for (RequestedTest test : tests) {
            Description leaf = listed.leaves.get(nameOf(test));
            if (leaf == null) {
                break;
            }
            order.add(leaf);
        }
        if (order.isEmpty()) {
            reporter.start(tests.get(0), testClass);
            reporter.setUpFailed(tests.get(0), new IllegalStateException("its class no longer has it: " + nameOf(tests.get(0))));
            return 1;
        }
        int count = ChildOrder.apply(runner, order);
        if (count == 0) {
            List<String> names = new ArrayList<>();
            tests.subList(0, order.size()).forEach(test -> names.add(nameOf(test)));
            Runner junit3 = JUnit3Suites.runner(testClass, runner, names, () -> Request.aClass(module.loadClass(testClass)).getRunner());
            boolean isWhole = junit3 == null && startsWith(order, listed.leaves.values());
            count = junit3 != null ? order.size() : isWhole ? listed.leaves.size() : 1;
            runner = junit3 != null ? junit3 : isWhole ? runner : only(order.get(0), runner);
        }
        if (parallel != null) {
            parallel.schedule(runner, module.loadClass(testClass));
        }
        RunNotifier notifier = new RunNotifier();
        JUnit4Listener listener = new JUnit4Listener(testClass, tests.subList(0, count), order, reporter);
        notifier.addListener(listener);
        reporter.announce(tests.get(0), testClass);
        runner.run(notifier);
        listener.finish();
        return count;
    }

    /** Whether a class runs from its first test to its last, which every runner can. */
    private static boolean startsWith(List<Description> order, Collection<Description> all) {
        return order.size() >= all.size() && order.subList(0, all.size()).equals(new ArrayList<>(all));
    }

    private static Runner only(Description test, Runner runner) {
        Request whole = new Request() {
            @Override
            public Runner getRunner() {
                return runner;
            }
        };
        return whole.filterWith(test).getRunner();
    }
}
