package unflake.jvm.platform;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.platform.engine.EngineDiscoveryRequest;
import org.junit.platform.engine.ExecutionRequest;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestEngine;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.hierarchical.Node;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.RequestedTest;

/**
 * Wraps an engine of the project: the engine discovers its tests as always and then executes them
 * in the requested order.
 */
final class ReorderingEngine implements TestEngine {
    static final String TEMPLATE = "test-template";
    static final String INVOCATION = "test-template-invocation";

    final TestEngine engine;
    private TestDescriptor root;
    /**
     * Whether the engine has executed the descriptors, and may have released what they need, or
     * whether they follow other settings than those of the next run.
     */
    private boolean isOutdated;
    private List<TestDescriptor> discovered;
    /** The tests to run, or the templates whose arguments are to be resolved. */
    private List<RequestedTest> tests;
    private boolean resolving;
    private boolean runsSetUp;
    private Consumer<RequestedTest> beforeTest = test -> { };
    final Map<String, DescriptorProxy> proxies = new HashMap<>();

    ReorderingEngine(TestEngine engine) {
        this.engine = engine;
    }

    /** The platform reserves the names of its own engines for these. */
    @Override
    public String getId() {
        return "unflake-" + engine.getId();
    }

    boolean owns(String key) {
        return key.startsWith("[engine:" + engine.getId() + "]");
    }

    /** Valid after discovery. Other engines cannot run their tests one by one. */
    boolean isHierarchical() {
        return discovered.stream().allMatch(child -> child instanceof Node);
    }

    /** Engines keep the settings of a discovery, and tests are listed one by one. */
    void run(List<RequestedTest> tests, Consumer<RequestedTest> beforeTest, boolean sideBySide) {
        isOutdated |= sideBySide;
        this.tests = tests;
        this.beforeTest = beforeTest;
        resolving = false;
    }

    /** Resolves the arguments of templates without running them, with or without class set-up. */
    void resolve(List<RequestedTest> tests, boolean setUp) {
        this.tests = tests;
        resolving = true;
        runsSetUp = setUp;
    }

    @Override
    public TestDescriptor discover(EngineDiscoveryRequest request, UniqueId id) {
        if (root == null || isOutdated) {
            isOutdated = false;
            root = engine.discover(request, UniqueId.forEngine(engine.getId()));
            discovered = new ArrayList<>(root.getChildren());
        }
        AgentError.guard(this::replaceTree);
        return root;
    }

    private void replaceTree() {
        new ArrayList<>(root.getChildren()).forEach(root::removeChild);
        // The real descriptors still find their parents.
        discovered.forEach(child -> child.setParent(root));
        if (tests != null) {
            buildTree();
        }
    }

    @Override
    public void execute(ExecutionRequest request) {
        isOutdated = true;
        engine.execute(request);
    }

    /** Visits all tests, with the descriptors above each, in the engine's own order. */
    void leaves(BiConsumer<List<TestDescriptor>, TestDescriptor> visitor) {
        discovered.forEach(child -> leaves(new ArrayList<>(), child, visitor));
    }

    private static void leaves(List<TestDescriptor> parents, TestDescriptor descriptor, BiConsumer<List<TestDescriptor>, TestDescriptor> visitor) {
        if (descriptor.isTest() || descriptor.mayRegisterTests()) {
            visitor.accept(parents, descriptor);
            return;
        }
        List<TestDescriptor> path = new ArrayList<>(parents);
        path.add(descriptor);
        descriptor.getChildren().forEach(child -> leaves(path, child, visitor));
    }

    /** Builds the tree of proxies. Consecutive tests of one class share its set-up. */
    private void buildTree() {
        proxies.clear();
        Map<String, List<TestDescriptor>> paths = new HashMap<>();
        leaves((parents, leaf) -> {
            List<TestDescriptor> path = new ArrayList<>(parents);
            path.add(leaf);
            paths.put(leaf.getUniqueId().toString(), path);
        });
        List<DescriptorProxy> open = new ArrayList<>();
        for (RequestedTest test : tests) {
            UniqueId id = UniqueId.parse(test.key);
            boolean isInvocation = lastSegment(id).getType().equals(INVOCATION);
            List<TestDescriptor> path = paths.get((isInvocation ? parent(id) : id).toString());
            if (path == null) {
                continue;
            }
            int depth = sharedDepth(open, path);
            boolean extendsLast = isInvocation && depth == path.size() && followsRequested(test, open.get(depth - 1));
            if (!extendsLast) {
                depth = Math.min(depth, path.size() - 1);
                open.subList(depth, open.size()).clear();
                for (TestDescriptor descriptor : path.subList(depth, path.size())) {
                    open.add(newProxy(open, descriptor));
                }
            }
            DescriptorProxy leaf = open.get(open.size() - 1);
            if (isInvocation) {
                leaf.invocations.put(test.key, test);
            } else {
                leaf.test = test;
            }
        }
    }

    private static int sharedDepth(List<DescriptorProxy> open, List<TestDescriptor> path) {
        int depth = 0;
        while (depth < open.size() && depth < path.size() && open.get(depth).real == path.get(depth)) {
            depth++;
        }
        return depth;
    }

    /** Whether the template produces this invocation after those that are already requested. */
    private static boolean followsRequested(RequestedTest test, DescriptorProxy template) {
        int last = -1;
        for (String key : template.invocations.keySet()) {
            last = ordinal(key);
        }
        return last >= 0 && ordinal(test.key) > last;
    }

    static UniqueId.Segment lastSegment(UniqueId id) {
        return id.getSegments().get(id.getSegments().size() - 1);
    }

    private static UniqueId parent(UniqueId id) {
        List<UniqueId.Segment> segments = id.getSegments();
        UniqueId parent = UniqueId.root(segments.get(0).getType(), segments.get(0).getValue());
        for (UniqueId.Segment segment : segments.subList(1, segments.size() - 1)) {
            parent = parent.append(segment.getType(), segment.getValue());
        }
        return parent;
    }

    private static int ordinal(String key) {
        return Integer.parseInt(lastSegment(UniqueId.parse(key)).getValue().substring(1));
    }

    private DescriptorProxy newProxy(List<DescriptorProxy> open, TestDescriptor real) {
        UniqueId id = real.getUniqueId();
        for (int number = 2; proxies.containsKey(id.toString()); number++) {
            id = real.getUniqueId().append("again", String.valueOf(number));
        }
        DescriptorProxy proxy = new DescriptorProxy(real, id);
        proxy.resolved = resolving ? new ArrayList<>() : null;
        proxy.runsSetUp = !resolving || runsSetUp;
        proxy.beforeTest = resolving ? proxy.beforeTest : beforeTest;
        proxies.put(id.toString(), proxy);
        if (open.isEmpty()) {
            root.addChild(proxy.self);
        } else {
            open.get(open.size() - 1).add(proxy);
        }
        return proxy;
    }
}
