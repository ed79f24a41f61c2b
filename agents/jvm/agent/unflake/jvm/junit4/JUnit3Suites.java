package unflake.jvm.junit4;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import junit.framework.Test;
import junit.framework.TestCase;
import junit.framework.TestSuite;
import org.junit.internal.runners.JUnit38ClassRunner;
import org.junit.runner.Runner;
import unflake.jvm.run.UniqueNames;

/** Orders tests of JUnit 3, which has no class-level set-up, by a new suite. */
final class JUnit3Suites {
    private JUnit3Suites() {
    }

    /**
     * Returns a runner of these tests in this order, or null if the suite has decorators around its
     * tests. A repeated test is another instance, taken from a new runner.
     */
    static Runner runner(String testClass, Runner runner, List<String> names, Callable<Runner> newRunner) throws Exception {
        if (!(runner instanceof JUnit38ClassRunner)) {
            return null;
        }
        List<Map<String, Test>> copies = new ArrayList<>();
        Map<String, Integer> times = new HashMap<>();
        TestSuite suite = new TestSuite(testClass);
        for (String name : names) {
            int earlier = times.merge(name, 1, Integer::sum) - 1;
            if (copies.size() == earlier) {
                copies.add(testsOf(earlier == 0 ? runner : newRunner.call()));
            }
            Test test = copies.get(earlier).get(name);
            if (test == null) {
                return null;
            }
            suite.addTest(test);
        }
        return new JUnit38ClassRunner(suite);
    }

    private static Map<String, Test> testsOf(Runner runner) throws ReflectiveOperationException {
        Map<String, Test> tests = new LinkedHashMap<>();
        for (Field field : JUnit38ClassRunner.class.getDeclaredFields()) {
            if (Test.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                add((Test) field.get(runner), tests);
            }
        }
        return tests;
    }

    /** Uses the names of {@link JUnit4#leaves}. */
    private static void add(Test test, Map<String, Test> tests) {
        if (test instanceof TestSuite) {
            for (Enumeration<Test> children = ((TestSuite) test).tests(); children.hasMoreElements(); ) {
                add(children.nextElement(), tests);
            }
        } else if (test instanceof TestCase) {
            String name = ((TestCase) test).getName() + "(" + test.getClass().getName() + ")";
            tests.put(UniqueNames.unique(name, tests), test);
        }
    }
}
