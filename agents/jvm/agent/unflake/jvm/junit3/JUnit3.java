package unflake.jvm.junit3;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import junit.framework.AssertionFailedError;
import junit.framework.Test;
import junit.framework.TestCase;
import junit.framework.TestListener;
import junit.framework.TestResult;
import junit.framework.TestSuite;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;
import unflake.jvm.run.TestFramework;
import unflake.jvm.run.TestModule;
import unflake.jvm.run.UniqueNames;

/** Runs tests of JUnit 3 in projects without JUnit 4. A decorated suite is one test. */
public final class JUnit3 implements TestFramework {
    private static final String PREFIX = "junit3:";

    private final TestModule module;
    /** Tests by class and name that have not run: a test that runs again is another object. */
    private final Map<String, Map<String, Test>> unused = new HashMap<>();

    public JUnit3(TestModule module) {
        this.module = module;
    }

    @Override
    public boolean owns(String key) {
        return key.startsWith(PREFIX);
    }

    @Override
    public void list(List<Class<?>> classes, Listing listing) throws Exception {
        for (Class<?> type : classes) {
            boolean hasSuite = suiteMethod(type) != null && (!module.ignoresSuitesOfOthers || Test.class.isAssignableFrom(type));
            if (!hasSuite && !isTestCase(type)) {
                continue;
            }
            Map<String, Test> tests = testsOf(type);
            unused.put(type.getName(), tests);
            for (Map.Entry<String, Test> test : tests.entrySet()) {
                String name = test.getKey();
                int end = name.lastIndexOf('(');
                String owner = end < 0 ? type.getName() : test.getValue().getClass().getName();
                listing.add(PREFIX + type.getName() + "/" + name, owner, end < 0 ? name : name.substring(0, end));
            }
        }
    }

    private static boolean isTestCase(Class<?> type) {
        return TestCase.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers());
    }

    private static Method suiteMethod(Class<?> type) {
        try {
            Method suite = type.getMethod("suite");
            return Modifier.isStatic(suite.getModifiers()) && Test.class.isAssignableFrom(suite.getReturnType()) ? suite : null;
        } catch (NoSuchMethodException absent) {
            return null;
        }
    }

    private static Map<String, Test> testsOf(Class<?> type) throws ReflectiveOperationException {
        Map<String, Test> tests = new LinkedHashMap<>();
        Method suite = suiteMethod(type);
        try {
            add(suite != null ? (Test) suite.invoke(null) : new TestSuite(type), tests);
        } catch (InvocationTargetException thrown) {
            add(new BrokenSuite(thrown.getCause()), tests);
        }
        return tests;
    }

    private static void add(Test test, Map<String, Test> tests) {
        if (test instanceof TestSuite) {
            for (Enumeration<?> children = ((TestSuite) test).tests(); children.hasMoreElements(); ) {
                add((Test) children.nextElement(), tests);
            }
        } else if (test instanceof TestCase) {
            String name = ((TestCase) test).getName() + "(" + test.getClass().getName() + ")";
            tests.put(UniqueNames.unique(name, tests), test);
        } else {
            tests.put(UniqueNames.unique(test.toString().replaceFirst("\\(.*", ""), tests), test);
        }
    }

    @Override
    public void run(List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        for (RequestedTest test : tests) {
            int slash = test.key.indexOf('/');
            String type = test.key.substring(PREFIX.length(), slash);
            String name = test.key.substring(slash + 1);
            reporter.beforeTest(test);
            reporter.announce(test, type);
            Test runnable = take(type, name);
            reporter.start(test, type);
            if (runnable == null) {
                reporter.setUpFailed(test, new IllegalStateException("its class no longer has it: " + name));
                continue;
            }
            FirstFailure listener = new FirstFailure();
            TestResult result = new TestResult();
            result.addListener(listener);
            runnable.run(result);
            if (listener.thrown == null) {
                reporter.passed(test);
            } else {
                reporter.failed(test, listener.thrown);
            }
        }
    }

    private Test take(String type, String name) throws ReflectiveOperationException {
        Map<String, Test> tests = unused.get(type);
        if (tests == null || !tests.containsKey(name)) {
            tests = testsOf(module.loadClass(type));
            unused.put(type, tests);
        }
        return tests.remove(name);
    }

    /** A suite method that throws. */
    private static final class BrokenSuite extends TestCase {
        private final Throwable thrown;

        BrokenSuite(Throwable thrown) {
            super("suite");
            this.thrown = thrown;
        }

        @Override
        protected void runTest() throws Throwable {
            throw thrown;
        }
    }

    private static final class FirstFailure implements TestListener {
        Throwable thrown;

        @Override
        public void addError(Test test, Throwable error) {
            thrown = thrown == null ? error : thrown;
        }

        @Override
        public void addFailure(Test test, AssertionFailedError failure) {
            thrown = thrown == null ? failure : thrown;
        }

        @Override
        public void startTest(Test test) {
        }

        @Override
        public void endTest(Test test) {
        }
    }
}
