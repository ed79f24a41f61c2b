package unflake.jvm.testng;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.testng.IMethodInstance;
import org.testng.IMethodInterceptor;
import org.testng.ITestContext;
import org.testng.ITestNGMethod;
import org.testng.TestNG;
import org.testng.xml.XmlSuite;
import org.testng.xml.XmlTest;

/** The tests of one {@code <test>}, in TestNG's order. TestNG is stopped before it runs anything. */
final class MethodListing implements IMethodInterceptor {
    /** Ends TestNG. */
    private static final class Listed extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private final SuitePlan plan;
    private final int index;
    private ITestNGMethod[] methods = {};

    MethodListing(SuitePlan plan, int index) {
        this.plan = plan;
        this.index = index;
    }

    @Override
    public List<IMethodInstance> intercept(List<IMethodInstance> instances, ITestContext context) {
        // Old versions intercept only methods without dependencies.
        methods = context.getAllTestMethods();
        throw new Listed();
    }

    List<TestKey> keys() throws Exception {
        List<XmlSuite> suites = plan.suites();
        XmlTest test = SuitePlan.tests(suites).get(index);
        XmlSuite suite = test.getSuite();
        suite.setTests(new ArrayList<>(Collections.singletonList(test)));
        test.getMethodSelectors().add(SuitePlan.selector(MethodChoice.class.getName(), MethodChoice.PRIORITY));
        MethodChoice.rule = (method, isTest) -> !isTest;
        TestNG testng = new TestNG(false);
        testng.setXmlSuites(new ArrayList<>(Collections.singletonList(suite)));
        plan.configure(testng);
        testng.setMethodInterceptor(this);
        try {
            testng.run();
        } catch (Listed complete) {
            return keysOf(methods);
        }
        return Collections.emptyList();
    }

    private List<TestKey> keysOf(ITestNGMethod[] all) {
        Map<String, List<ITestNGMethod>> byName = new LinkedHashMap<>();
        for (ITestNGMethod method : all) {
            byName.computeIfAbsent(nameOf(method), name -> new ArrayList<>()).add(method);
        }
        List<TestKey> keys = new ArrayList<>();
        byName.forEach((name, same) -> {
            Set<String> needed = new LinkedHashSet<>();
            addPrerequisites(same, all, byName, needed, new LinkedHashSet<>(Collections.singleton(name)));
            ITestNGMethod first = same.get(0);
            keys.add(new TestKey(index, first.getTestClass().getName(), first.getMethodName(), invocationsOf(same), new ArrayList<>(needed)));
        });
        return keys;
    }

    static String nameOf(ITestNGMethod method) {
        return TestKey.name(method.getTestClass().getName(), method.getMethodName());
    }

    /** Adds what these methods depend on, and before it what that depends on. */
    private static void addPrerequisites(
            List<ITestNGMethod> methods, ITestNGMethod[] all, Map<String, List<ITestNGMethod>> byName, Set<String> needed, Set<String> open) {
        for (ITestNGMethod method : methods) {
            List<String> names = Arrays.asList(method.getMethodsDependedUpon());
            List<String> groups = Arrays.asList(method.getGroupsDependedUpon());
            for (ITestNGMethod other : all) {
                String qualified = other.getTestClass().getName() + "." + other.getMethodName();
                String declared = methodOf(other).getDeclaringClass().getName() + "." + other.getMethodName();
                boolean isNeeded = names.contains(qualified) || names.contains(declared)
                        || Arrays.stream(other.getGroups()).anyMatch(group -> groups.stream().anyMatch(group::matches));
                String name = nameOf(other);
                if (isNeeded && open.add(name)) {
                    addPrerequisites(byName.get(name), all, byName, needed, open);
                    needed.add(name);
                }
            }
        }
    }

    private static TestKey.Invocations invocationsOf(List<ITestNGMethod> same) {
        ITestNGMethod first = same.get(0);
        if (same.size() > 1) {
            return TestKey.Invocations.OBJECTS;
        }
        boolean isSingle = first.getInvocationCount() == 1 && methodOf(first).getParameterCount() == 0 && !isRetried(first);
        return isSingle ? TestKey.Invocations.SINGLE : TestKey.Invocations.ROWS;
    }

    /** A test with a retry analyzer has as many invocations as that decides. */
    private static boolean isRetried(ITestNGMethod method) {
        org.testng.annotations.Test test = methodOf(method).getAnnotation(org.testng.annotations.Test.class);
        String analyzer = test == null ? "" : test.retryAnalyzer().getName();
        return !analyzer.isEmpty() && !analyzer.equals("java.lang.Class") && !analyzer.startsWith("org.testng.internal.");
    }

    private static Method methodOf(ITestNGMethod method) {
        try {
            Object found = ITestNGMethod.class.getMethod("getConstructorOrMethod").invoke(method);
            return (Method) found.getClass().getMethod("getMethod").invoke(found);
        } catch (NoSuchMethodException old) {
            return oldMethodOf(method);
        } catch (ReflectiveOperationException refused) {
            throw new IllegalStateException(refused);
        }
    }

    private static Method oldMethodOf(ITestNGMethod method) {
        try {
            return (Method) ITestNGMethod.class.getMethod("getMethod").invoke(method);
        } catch (ReflectiveOperationException refused) {
            throw new IllegalStateException(refused);
        }
    }
}
