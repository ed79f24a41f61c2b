package unflake.junit;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
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

/** Tests of the JUnit Platform: Jupiter, and others that are built like it. */
public final class Platform implements Framework {
    private static final String PARALLEL = "junit.jupiter.execution.parallel.enabled";

    private final Module module;
    private final List<Stage> stages = new ArrayList<>();

    public Platform(Module module) {
        this.module = module;
        List<String> included = module.words("includejunit5engines");
        List<String> excluded = module.words("excludejunit5engines");
        for (TestEngine engine : ServiceLoader.load(TestEngine.class)) {
            // What this one runs is run by Classic.
            boolean isOther = engine.getId().equals("junit-vintage");
            boolean isIn = included.isEmpty() || included.contains(engine.getId());
            if (!isOther && isIn && !excluded.contains(engine.getId())) {
                stages.add(new Stage(engine));
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
        if (!module.words("groups").isEmpty()) {
            tags.add(TagFilter.includeTags(module.words("groups")));
        }
        if (!module.words("excludegroups").isEmpty()) {
            tags.add(TagFilter.excludeTags(module.words("excludegroups")));
        }
        for (Stage stage : stages) {
            LauncherDiscoveryRequest request = request(selectors);
            launcher(stage).discover(request);
            if (!stage.isHierarchical()) {
                module.notes.add("tests of the engine " + stage.engine.getId() + " are not run: they cannot be run one by one");
                continue;
            }
            Map<String, List<TestDescriptor>> invocations = invocations(stage, request);
            stage.leaves((above, leaf) -> {
                if (!tags.stream().allMatch(filter -> filter.apply(leaf).included())) {
                    return;
                }
                String type = typeOf(leaf);
                for (TestDescriptor one : invocations.get(leaf.getUniqueId().toString())) {
                    listing.add(one.getUniqueId().toString(), type, nameOf(one));
                }
            });
        }
    }

    /**
     * What each test consists of: itself, or, with parameters or repetitions, one for each. To know these, classes are prepared as
     * for a run, but nothing of them is set up or run except for what provides the arguments. Where that needs its class set up,
     * it is, and this process is not to run tests any more.
     */
    private Map<String, List<TestDescriptor>> invocations(Stage stage, LauncherDiscoveryRequest request) {
        Map<String, List<TestDescriptor>> all = new LinkedHashMap<>();
        List<Wanted> templates = new ArrayList<>();
        stage.leaves((above, leaf) -> {
            List<TestDescriptor> itself = new ArrayList<>();
            itself.add(leaf);
            all.put(leaf.getUniqueId().toString(), itself);
            if (leaf.getUniqueId().getLastSegment().getType().equals(Stage.TEMPLATE)) {
                templates.add(new Wanted(templates.size(), leaf.getUniqueId().toString()));
            }
        });
        if (templates.isEmpty()) {
            return all;
        }
        Map<String, List<TestDescriptor>> seen = look(stage, request, templates, false);
        templates.removeIf(one -> seen.containsKey(one.key));
        if (!templates.isEmpty()) {
            module.isUsed = true;
            seen.putAll(look(stage, request, templates, true));
        }
        all.putAll(seen);
        return all;
    }

    private Map<String, List<TestDescriptor>> look(
            Stage stage, LauncherDiscoveryRequest request, List<Wanted> templates, boolean setUp) {
        Map<String, List<TestDescriptor>> seen = new LinkedHashMap<>();
        stage.look(templates, setUp);
        Look look = new Look();
        launcher(stage).execute(request, look);
        stage.shadows.forEach((id, shadow) -> {
            if (!shadow.looked.isEmpty() && !look.failed.contains(id)) {
                seen.put(shadow.real.getUniqueId().toString(), shadow.looked);
            }
        });
        return seen;
    }

    /** Which of those that were looked at did not come through it. */
    private static final class Look implements TestExecutionListener {
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
    public void run(List<Wanted> tests, Report report) throws Exception {
        int at = 0;
        while (at < tests.size()) {
            Stage stage = stageOf(tests.get(at).key);
            List<Wanted> together = new ArrayList<>();
            for (; at < tests.size() && stageOf(tests.get(at).key) == stage; at++) {
                together.add(tests.get(at));
            }
            stage.play(together, report::before);
            launcher(stage).execute(request(selectors(together)), new Follower(stage, report));
        }
    }

    private Stage stageOf(String key) {
        return stages.stream().filter(stage -> stage.owns(key)).findFirst().get();
    }

    /** The classes of these tests; or all, where an engine does not name them. */
    private List<DiscoverySelector> selectors(List<Wanted> tests) {
        Set<String> names = new LinkedHashSet<>();
        for (Wanted test : tests) {
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
                .configurationParameter(PARALLEL, "false")
                .build();
    }

    private static Launcher launcher(Stage stage) {
        return LauncherFactory.create(
                LauncherConfig.builder().enableTestEngineAutoRegistration(false).addTestEngines(stage).build());
    }

    static String typeOf(TestDescriptor test) {
        TestSource source = test.getSource().orElse(null);
        if (source instanceof MethodSource) {
            return ((MethodSource) source).getClassName();
        }
        if (source instanceof ClassSource) {
            return ((ClassSource) source).getClassName();
        }
        return test.getParent().map(Platform::typeOf).orElse("");
    }

    /** As Surefire names it in its reports; with a number where Surefire gives several the same name. */
    private static String nameOf(TestDescriptor test) {
        return test.getLegacyReportingName().replaceFirst("\\(\\)(?=$|\\[)", "");
    }
}
