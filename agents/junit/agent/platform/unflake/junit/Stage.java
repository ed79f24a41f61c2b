package unflake.junit;

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

/** An engine of the project, which finds what it always finds, and is given that to run in another order. */
final class Stage implements TestEngine {
    static final String TEMPLATE = "test-template";
    static final String INVOCATION = "test-template-invocation";

    final TestEngine engine;
    private TestDescriptor root;
    private List<TestDescriptor> found;
    /** What is to be run, or only looked at. */
    private List<Wanted> tests;
    private boolean looking;
    private boolean settingUp;
    private Consumer<Wanted> before = test -> { };
    final Map<String, Shadow> shadows = new HashMap<>();

    Stage(TestEngine engine) {
        this.engine = engine;
    }

    /** The platform keeps the names of its own engines for these. */
    @Override
    public String getId() {
        return "unflake-" + engine.getId();
    }

    boolean owns(String key) {
        return key.startsWith("[engine:" + engine.getId() + "]");
    }

    /** Only to be asked of an engine whose tests run by themselves, one below the other. */
    boolean isHierarchical() {
        return found.stream().allMatch(child -> child instanceof Node);
    }

    void play(List<Wanted> tests, Consumer<Wanted> before) {
        this.tests = tests;
        this.before = before;
        looking = false;
    }

    /** Has the arguments of these looked at, without running them; with or without the set-up of their classes. */
    void look(List<Wanted> tests, boolean setUp) {
        this.tests = tests;
        looking = true;
        settingUp = setUp;
    }

    @Override
    public TestDescriptor discover(EngineDiscoveryRequest request, UniqueId id) {
        if (root == null) {
            root = engine.discover(request, UniqueId.forEngine(engine.getId()));
            found = new ArrayList<>(root.getChildren());
        }
        new ArrayList<>(root.getChildren()).forEach(root::removeChild);
        // They go on as if they were there.
        found.forEach(child -> child.setParent(root));
        if (tests != null) {
            arrange();
        }
        return root;
    }

    @Override
    public void execute(ExecutionRequest request) {
        engine.execute(request);
    }

    /** Whatever can be run as a test, with what it is below of; in the engine's own order. */
    void leaves(BiConsumer<List<TestDescriptor>, TestDescriptor> take) {
        found.forEach(child -> leaves(new ArrayList<>(), child, take));
    }

    private static void leaves(List<TestDescriptor> above, TestDescriptor one, BiConsumer<List<TestDescriptor>, TestDescriptor> take) {
        if (one.isTest() || one.mayRegisterTests()) {
            take.accept(above, one);
            return;
        }
        List<TestDescriptor> below = new ArrayList<>(above);
        below.add(one);
        one.getChildren().forEach(child -> leaves(below, child, take));
    }

    /** Tests that share a class and are neighbours share its set-up. */
    private void arrange() {
        shadows.clear();
        Map<String, List<TestDescriptor>> ways = new HashMap<>();
        leaves((above, leaf) -> {
            List<TestDescriptor> way = new ArrayList<>(above);
            way.add(leaf);
            ways.put(leaf.getUniqueId().toString(), way);
        });
        List<Shadow> open = new ArrayList<>();
        for (Wanted test : tests) {
            UniqueId id = UniqueId.parse(test.key);
            boolean isInvocation = id.getLastSegment().getType().equals(INVOCATION);
            List<TestDescriptor> way = ways.get((isInvocation ? id.removeLastSegment() : id).toString());
            if (way == null) {
                continue;
            }
            int depth = shared(open, way);
            boolean joins = isInvocation && depth == way.size() && comesAfter(test, open.get(depth - 1));
            if (!joins) {
                depth = Math.min(depth, way.size() - 1);
                open.subList(depth, open.size()).clear();
                for (TestDescriptor one : way.subList(depth, way.size())) {
                    open.add(below(open, one));
                }
            }
            Shadow leaf = open.get(open.size() - 1);
            if (isInvocation) {
                leaf.invocations.put(test.key, test);
            } else {
                leaf.whole = test;
            }
        }
    }

    private static int shared(List<Shadow> open, List<TestDescriptor> way) {
        int depth = 0;
        while (depth < open.size() && depth < way.size() && open.get(depth).real == way.get(depth)) {
            depth++;
        }
        return depth;
    }

    /** Whether a test with its arguments comes up on the way through the others that are wanted, after them. */
    private static boolean comesAfter(Wanted test, Shadow template) {
        int last = -1;
        for (String key : template.invocations.keySet()) {
            last = number(key);
        }
        return last >= 0 && number(test.key) > last;
    }

    private static int number(String key) {
        return Integer.parseInt(UniqueId.parse(key).getLastSegment().getValue().substring(1));
    }

    private Shadow below(List<Shadow> open, TestDescriptor real) {
        UniqueId id = real.getUniqueId();
        for (int again = 2; shadows.containsKey(id.toString()); again++) {
            id = real.getUniqueId().append("again", String.valueOf(again));
        }
        Shadow shadow = new Shadow(real, id);
        shadow.looked = looking ? new ArrayList<>() : null;
        shadow.isSetUp = !looking || settingUp;
        shadow.before = looking ? shadow.before : before;
        shadows.put(id.toString(), shadow);
        if (open.isEmpty()) {
            root.addChild(shadow.self);
        } else {
            open.get(open.size() - 1).add(shadow);
        }
        return shadow;
    }
}
