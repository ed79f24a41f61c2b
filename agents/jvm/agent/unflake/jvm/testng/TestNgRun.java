package unflake.jvm.testng;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
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
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.ResultReporter;

/**
 * One run of TestNG. As the project configures it, TestNG decides about order and threads;
 * otherwise the tests of one {@code <test>} run one by one in the order of their requests.
 */
final class TestNgRun implements IMethodInterceptor {
    private final SuitePlan plan;
    private final boolean isReordered;
    private final ResultReporter reporter;
    private final TestNgListener listener;
    /** The names of the wanted tests by the position of their {@code <test>}. */
    private final Map<Integer, Set<String>> wanted = new HashMap<>();
    /** The place of each test, with what it depends on, in the requested order. */
    private final Map<String, Integer> places = new HashMap<>();
    private final Map<String, Integer> repeats = new HashMap<>();

    TestNgRun(SuitePlan plan, List<TestNg.Request> requests, ResultReporter reporter) {
        this.plan = plan;
        this.reporter = reporter;
        isReordered = !plan.runsAsConfigured();
        listener = new TestNgListener(requests, reporter, isReordered);
        for (TestNg.Request request : requests) {
            Set<String> ofTest = wanted.computeIfAbsent(request.key.test, test -> new HashSet<>());
            ofTest.addAll(request.key.prerequisites);
            ofTest.add(request.key.name());
            request.key.prerequisites.forEach(name -> places.putIfAbsent(name, places.size()));
            places.putIfAbsent(request.key.name(), places.size());
            repeats.merge(request.key.name(), 1, Integer::sum);
        }
    }

    void run() throws Exception {
        List<XmlSuite> suites = plan.suites();
        List<XmlTest> tests = SuitePlan.tests(suites);
        for (int index = 0; index < tests.size(); index++) {
            XmlTest test = tests.get(index);
            if (wanted.containsKey(index)) {
                test.getMethodSelectors().add(SuitePlan.selector(MethodChoice.class.getName(), MethodChoice.PRIORITY));
            } else {
                List<XmlTest> others = new ArrayList<>(test.getSuite().getTests());
                others.remove(test);
                test.getSuite().setTests(others);
            }
        }
        suites.removeIf(suite -> suite.getTests().isEmpty());
        Set<String> all = new HashSet<>();
        wanted.values().forEach(all::addAll);
        MethodChoice.rule = (method, isTest) -> isTest && !all.contains(MethodListing.nameOf(method));
        TestNG testng = new TestNG(false);
        testng.setXmlSuites(suites);
        plan.configure(testng);
        testng.addListener((Object) listener);
        if (isReordered) {
            testng.setMethodInterceptor(this);
            listener.announceFirst();
        } else {
            reporter.runSideBySide(SuitePlan.isParallel(suites) || plan.hasParallelOption());
        }
        Throwable thrown = null;
        try {
            testng.run();
        } catch (RuntimeException | LinkageError refused) {
            thrown = refused;
        }
        listener.finish(thrown);
    }

    @Override
    public List<IMethodInstance> intercept(List<IMethodInstance> instances, ITestContext context) {
        List<IMethodInstance> ordered = new ArrayList<>(instances);
        AgentError.guard(() -> {
            for (ITestNGMethod method : context.getAllTestMethods()) {
                String name = MethodListing.nameOf(method);
                method.setPriority(places.getOrDefault(name, places.size()));
                if (repeats.getOrDefault(name, 1) > 1) {
                    method.setInvocationCount(repeats.get(name));
                }
            }
            ordered.sort((one, other) -> place(one) - place(other));
        });
        return ordered;
    }

    private int place(IMethodInstance instance) {
        return places.getOrDefault(MethodListing.nameOf(instance.getMethod()), places.size());
    }
}
