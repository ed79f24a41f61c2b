package unflake.jvm.testng;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;
import unflake.jvm.run.TestFramework;
import unflake.jvm.run.TestModule;

/**
 * Runs tests of TestNG. A test is a method of a class, with all rows of its data provider, all its
 * invocations and all instances of its class. What it depends on runs before it.
 */
public final class TestNg implements TestFramework {
    private final TestModule module;
    private final SuitePlan plan;

    public TestNg(TestModule module) {
        this.module = module;
        plan = new SuitePlan(module);
    }

    @Override
    public boolean owns(String key) {
        return key.startsWith(TestKey.PREFIX);
    }

    @Override
    public void list(List<Class<?>> classes, Listing listing) throws Exception {
        // TestNG creates the objects of all test classes to find their tests.
        module.hasRunProjectCode = true;
        module.hasOwnOrder = true;
        for (int index = 0; index < plan.size(); index++) {
            for (TestKey key : new MethodListing(plan, index).keys()) {
                listing.add(key.toString(), key.testClass, key.method);
            }
        }
    }

    @Override
    public void run(List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        List<Request> requests = new ArrayList<>();
        for (RequestedTest test : tests) {
            requests.add(new Request(test));
        }
        if (module.runsAsConfigured) {
            new TestNgRun(plan, requests, reporter).run();
            return;
        }
        int next = 0;
        while (next < requests.size()) {
            int end = segmentEnd(requests, next);
            new TestNgRun(plan, requests.subList(next, end), reporter).run();
            next = end;
        }
    }

    /**
     * Where a new run of TestNG has to start: at a test of another {@code <test>}, at one that has
     * run before, and at one that a test before it depends on. A test of one invocation can repeat.
     */
    private static int segmentEnd(List<Request> requests, int start) {
        Set<String> seen = new HashSet<>();
        String last = null;
        for (int index = start; index < requests.size(); index++) {
            TestKey key = requests.get(index).key;
            boolean repeats = key.isSingle() && key.name().equals(last);
            if (key.test != requests.get(start).key.test || !seen.add(key.name()) && !repeats) {
                return index;
            }
            seen.addAll(key.prerequisites);
            last = key.name();
        }
        return requests.size();
    }

    /** A requested test and its parsed key. */
    static final class Request {
        final RequestedTest test;
        final TestKey key;

        Request(RequestedTest test) {
            this.test = test;
            key = TestKey.parse(test.key);
        }
    }
}
