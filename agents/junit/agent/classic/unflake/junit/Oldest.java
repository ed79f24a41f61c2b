package unflake.junit;

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

/** Tests of JUnit 3: nothing is set up around them, so those that are wanted make a suite of their own. */
final class Oldest {
    private Oldest() {
    }

    /**
     * A runner of these, by their names, in this order; or null, where something stands around its tests. A test that comes again is
     * another instance, of another runner.
     */
    static Runner of(String type, Runner runner, List<String> names, Callable<Runner> another) throws Exception {
        if (!(runner instanceof JUnit38ClassRunner)) {
            return null;
        }
        List<Map<String, Test>> copies = new ArrayList<>();
        Map<String, Integer> times = new HashMap<>();
        TestSuite suite = new TestSuite(type);
        for (String name : names) {
            int before = times.merge(name, 1, Integer::sum) - 1;
            if (copies.size() == before) {
                copies.add(tests(before == 0 ? runner : another.call()));
            }
            Test test = copies.get(before).get(name);
            if (test == null) {
                return null;
            }
            suite.addTest(test);
        }
        return new JUnit38ClassRunner(suite);
    }

    private static Map<String, Test> tests(Runner runner) throws ReflectiveOperationException {
        Map<String, Test> found = new LinkedHashMap<>();
        for (Field field : JUnit38ClassRunner.class.getDeclaredFields()) {
            if (Test.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                add((Test) field.get(runner), found);
            }
        }
        return found;
    }

    /** Named as {@link Classic#leaves} names them. */
    private static void add(Test test, Map<String, Test> found) {
        if (test instanceof TestSuite) {
            for (Enumeration<Test> below = ((TestSuite) test).tests(); below.hasMoreElements(); ) {
                add(below.nextElement(), found);
            }
        } else if (test instanceof TestCase) {
            String name = ((TestCase) test).getName() + "(" + test.getClass().getName() + ")";
            found.put(Classic.unique(name, found), test);
        }
    }
}
