package unflake.jvm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import unflake.jvm.isolation.IsolatedRunner;
import unflake.jvm.layers.LayerRecorder;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.protocol.DriverOutput;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.run.CapturedOutput;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;
import unflake.jvm.run.TestFramework;
import unflake.jvm.run.TestModule;
import unflake.jvm.run.UnsupportedProjectException;
import unflake.jvm.state.StateProbe;
import unflake.jvm.trace.LineTracer;

/**
 * Runs tests one by one in this process, in the order that the driver requests, and reports each
 * result.
 *
 * <p>Arguments: the marker that encloses each message, the two property files that Surefire wrote
 * for its own process, and either the path of an order file or {@code -}. With {@code -} the agent
 * lists all tests and then reads the path of its only order from standard input. A further argument
 * names a file with the rest of the class path; each test then runs in a class loader of its own.
 */
public final class Main {
    private static final String[] ADAPTERS = {
        "unflake.jvm.platform.JUnitPlatform", "unflake.jvm.testng.TestNg", "unflake.jvm.junit4.JUnit4", "unflake.jvm.junit3.JUnit3",
        "unflake.jvm.plain.PlainTests"
    };

    /** The end of the name of an order whose tests run as the project configures it. */
    private static final String AS_CONFIGURED = "-suite";

    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        DriverOutput output = new DriverOutput(arguments[0]);
        AgentError.reportTo(output);
        try {
            CapturedOutput captured = CapturedOutput.install();
            TestModule module = TestModule.read(arguments[1], arguments[2]);
            ResultReporter reporter = new ResultReporter(output, captured);
            if (arguments.length > 4) {
                new IsolatedRunner(lines(arguments[4]), tests -> run(tests, frameworks(module), reporter)).run(lines(arguments[3]), output);
            } else {
                runInProcess(arguments[3], module, output, reporter);
            }
        } catch (UnsupportedProjectException refusal) {
            output.send(new JsonObject().put("problem", refusal.getMessage()));
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
        // Like Surefire, do not wait for threads that tests have left running.
        output.send(new JsonObject().put("over", true));
        System.exit(0);
    }

    /** Lists tests, runs tests, or both, in the class loader of this process. */
    private static void runInProcess(String order, TestModule module, DriverOutput output, ResultReporter reporter) throws Exception {
        List<TestFramework> frameworks = frameworks(module);
        if (order.equals("-")) {
            list(module, frameworks, output);
            order = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
        }
        if (order == null) {
            return;
        }
        module.runsAsConfigured = order.endsWith(AS_CONFIGURED);
        List<RequestedTest> tests = new ArrayList<>();
        for (String key : lines(order)) {
            tests.add(new RequestedTest(tests.size(), key));
        }
        LayerRecorder.readFilter(order);
        StateProbe state = StateProbe.active();
        if (state != null) {
            state.remember();
        }
        run(tests, frameworks, reporter);
        if (state != null) {
            state.finish();
        }
    }

    /** The adapters in this jar; which ones are compiled depends on the project's class path. */
    private static List<TestFramework> frameworks(TestModule module) throws ReflectiveOperationException {
        List<TestFramework> adapters = new ArrayList<>();
        for (String name : ADAPTERS) {
            Class<?> type;
            try {
                type = Class.forName(name);
            } catch (ClassNotFoundException absent) {
                continue;
            }
            adapters.add((TestFramework) type.getConstructor(TestModule.class).newInstance(module));
        }
        return adapters;
    }

    private static void list(TestModule module, List<TestFramework> frameworks, DriverOutput output) throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (String name : module.classes) {
            Class<?> loaded = module.loadClass(name);
            if (loaded != null) {
                classes.add(loaded);
            }
        }
        for (TestFramework framework : frameworks) {
            framework.list(classes, (key, className, method) -> {
                if (module.isSelected(className, method)) {
                    output.buffer(new JsonObject().put("test", key).put("class", className).put("method", method));
                }
            });
        }
        for (String note : module.notes) {
            output.send(new JsonObject().put("note", note));
        }
        output.send(new JsonObject().put("listed", true).put("used", module.hasRunProjectCode).put("own_order", module.hasOwnOrder));
    }

    /** Gives each framework the longest possible run of consecutive tests. */
    private static void run(List<RequestedTest> tests, List<TestFramework> frameworks, ResultReporter reporter) throws Exception {
        int next = 0;
        while (next < tests.size()) {
            TestFramework framework = owner(tests.get(next).key, frameworks);
            int first = next;
            while (next < tests.size() && owner(tests.get(next).key, frameworks) == framework) {
                next++;
            }
            framework.run(tests.subList(first, next), reporter);
            if (next == tests.size()) {
                // Before the last result is reported, because the driver then reads the trace.
                LineTracer.finish();
            }
            reporter.finish();
        }
    }

    private static List<String> lines(String path) throws IOException {
        return Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8);
    }

    private static TestFramework owner(String key, List<TestFramework> frameworks) {
        for (TestFramework framework : frameworks) {
            if (framework.owns(key)) {
                return framework;
            }
        }
        throw new IllegalArgumentException("no test framework runs " + key);
    }
}
