package unflake.jvm.platform;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.Set;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestEngine;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;
import unflake.jvm.run.TestFramework;
import unflake.jvm.run.TestModule;

/** Runs tests on the JUnit Platform: Jupiter and other engines with a tree of nodes. */
public final class JUnitPlatform implements TestFramework {
    private static final String PARALLEL_EXECUTION = "junit.jupiter.execution.parallel.enabled";

    private final TestModule module;
    private final List<ReorderingEngine> engines = new ArrayList<>();

    public JUnitPlatform(TestModule module) {
        this.module = module;
        List<String> included = module.list("includejunit5engines");
        List<String> excluded = module.list("excludejunit5engines");
        for (TestEngine engine : ServiceLoader.load(TestEngine.class)) {
            // JUnit4 runs what this engine would run.
            boolean isVintage = engine.getId().equals("junit-vintage");
            boolean isIncluded = included.isEmpty() || included.contains(engine.getId());
            if (!isVintage && isIncluded && !excluded.contains(engine.getId())) {
                engines.add(new ReorderingEngine(engine));
            }
        }
    }

    @Override
    public boolean owns(String key) {
        return key.startsWith("[engine:");
    }

    @Override
    public void list(List<Class<?>> classes, Listing listing) throws Exception {
        List<DiscoverySelector> selectors = new ArrayList<>();
        classes.forEach(type -> selectors.add(DiscoverySelectors.selectClass(type)));
        List<PostDiscoveryFilter> tags = new ArrayList<>();
        if (!module.list("groups").isEmpty()) {
            tags.add(TagFilter.includeTags(module.list("groups")));
        }
        if (!module.list("excludegroups").isEmpty()) {
            tags.add(TagFilter.excludeTags(module.list("excludegroups")));
        }
        module.hasOwnOrder |= isParallel();
        for (ReorderingEngine engine : engines) {
            LauncherDiscoveryRequest request = request(selectors);
            launcher(engine).discover(request);
            if (!engine.isHierarchical()) {
                module.notes.add("tests of the engine " + engine.engine.getId() + " are not run: they cannot be run one by one");
                continue;
            }
            Map<String, List<TestDescriptor>> invocations = invocations(engine, request);
            engine.leaves((parents, leaf) -> {
                if (!tags.stream().allMatch(filter -> filter.apply(leaf).included())) {
                    return;
                }
                String type = classOf(leaf);
                for (TestDescriptor invocation : invocations.get(leaf.getUniqueId().toString())) {
                    listing.add(invocation.getUniqueId().toString(), type, nameOf(invocation));
                }
            });
        }
    }

    /**
     * Maps each test to its invocations: itself, or one for each set of parameters or repetition.
     * To find these, classes are prepared as for a run, but only argument providers are executed.
     * Where a provider needs the set-up of its class, the class is set up, and this process must
     * not run tests any more.
     */
    private Map<String, List<TestDescriptor>> invocations(ReorderingEngine engine, LauncherDiscoveryRequest request) {
        Map<String, List<TestDescriptor>> all = new LinkedHashMap<>();
        List<RequestedTest> templates = new ArrayList<>();
        engine.leaves((parents, leaf) -> {
            all.put(leaf.getUniqueId().toString(), Collections.singletonList(leaf));
            if (ReorderingEngine.lastSegment(leaf.getUniqueId()).getType().equals(ReorderingEngine.TEMPLATE)) {
                templates.add(new RequestedTest(templates.size(), leaf.getUniqueId().toString()));
            }
        });
        if (templates.isEmpty()) {
            return all;
        }
        Map<String, List<TestDescriptor>> resolved = resolve(engine, request, templates, false);
        templates.removeIf(template -> resolved.containsKey(template.key));
        if (!templates.isEmpty()) {
            module.hasRunProjectCode = true;
            resolved.putAll(resolve(engine, request, templates, true));
        }
        all.putAll(resolved);
        return all;
    }

    private Map<String, List<TestDescriptor>> resolve(
            ReorderingEngine engine, LauncherDiscoveryRequest request, List<RequestedTest> templates, boolean setUp) {
        Map<String, List<TestDescriptor>> resolved = new LinkedHashMap<>();
        engine.resolve(templates, setUp);
        FailureCollector failures = new FailureCollector();
        launcher(engine).execute(request, failures);
        engine.proxies.forEach((id, proxy) -> {
            if (!proxy.resolved.isEmpty() && !failures.failed.contains(id)) {
                resolved.put(proxy.real.getUniqueId().toString(), proxy.resolved);
            }
        });
        return resolved;
    }

    /** The templates whose arguments could not be resolved. */
    private static final class FailureCollector implements TestExecutionListener {
        final Set<String> failed = new LinkedHashSet<>();

        @Override
        public void executionFinished(
                org.junit.platform.launcher.TestIdentifier test, org.junit.platform.engine.TestExecutionResult result) {
            if (result.getThrowable().isPresent()) {
                failed.add(test.getUniqueId());
            }
        }
    }

    @Override
    public void run(List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        int next = 0;
        while (next < tests.size()) {
            ReorderingEngine engine = engineOf(tests.get(next).key);
            List<RequestedTest> together = new ArrayList<>();
            for (; next < tests.size() && engineOf(tests.get(next).key) == engine; next++) {
                together.add(tests.get(next));
            }
            reporter.runSideBySide(runsSideBySide());
            engine.run(together, reporter::beforeTest, runsSideBySide());
            launcher(engine).execute(request(selectors(together)), new PlatformListener(engine, reporter));
        }
    }

    private boolean runsSideBySide() throws IOException {
        return module.runsAsConfigured && isParallel();
    }

    /** Whether the project runs tests in parallel, by Surefire's settings, a property or a file. */
    private boolean isParallel() throws IOException {
        Properties file = new Properties();
        try (InputStream stream = Thread.currentThread().getContextClassLoader().getResourceAsStream("junit-platform.properties")) {
            if (stream != null) {
                file.load(stream);
            }
        }
        String inFile = file.getProperty(PARALLEL_EXECUTION);
        String value = module.parameters().getOrDefault(PARALLEL_EXECUTION, System.getProperty(PARALLEL_EXECUTION, inFile));
        return Boolean.parseBoolean(value);
    }

    private ReorderingEngine engineOf(String key) {
        return engines.stream().filter(engine -> engine.owns(key)).findFirst().get();
    }

    /** The classes of the tests; all classes if an engine does not use classes as containers. */
    private List<DiscoverySelector> selectors(List<RequestedTest> tests) {
        Set<String> names = new LinkedHashSet<>();
        for (RequestedTest test : tests) {
            UniqueId.Segment segment = UniqueId.parse(test.key).getSegments().get(1);
            if (!segment.getType().equals("class")) {
                names.clear();
                names.addAll(module.classes);
                break;
            }
            names.add(segment.getValue());
        }
        List<DiscoverySelector> selectors = new ArrayList<>();
        names.forEach(name -> selectors.add(DiscoverySelectors.selectClass(name)));
        return selectors;
    }

    private LauncherDiscoveryRequest request(List<DiscoverySelector> selectors) throws IOException {
        return LauncherDiscoveryRequestBuilder.request()
                .selectors(selectors)
                .configurationParameters(module.parameters())
                .configurationParameter(PARALLEL_EXECUTION, String.valueOf(runsSideBySide()))
                .build();
    }

    private static Launcher launcher(ReorderingEngine engine) {
        return LauncherFactory.create(
                LauncherConfig.builder().enableTestEngineAutoRegistration(false).addTestEngines(engine).build());
    }

    static String classOf(TestDescriptor test) {
        TestSource source = test.getSource().orElse(null);
        if (source instanceof MethodSource) {
            return ((MethodSource) source).getClassName();
        }
        if (source instanceof ClassSource) {
            return ((ClassSource) source).getClassName();
        }
        return test.getParent().map(JUnitPlatform::classOf).orElse("");
    }

    /** As in Surefire's reports, with a number where Surefire repeats a name. */
    private static String nameOf(TestDescriptor test) {
        return test.getLegacyReportingName().replaceFirst("\\(\\)(?=$|\\[)", "");
    }
}
