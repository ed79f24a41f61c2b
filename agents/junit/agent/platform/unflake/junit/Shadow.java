package unflake.junit;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.platform.engine.EngineExecutionListener;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.hierarchical.Node;
import org.junit.platform.engine.support.hierarchical.Node.DynamicTestExecutor;

/**
 * Stands for a class or a test in a tree that has it as often, and in the order, that is wanted. What it does when it is its
 * turn is up to what it stands for, whose own tree stays as it was found.
 */
final class Shadow implements InvocationHandler {
    final TestDescriptor self;
    final TestDescriptor real;
    final UniqueId id;
    /** The test that this is as a whole. */
    Wanted whole;
    /** Of a test that runs several times with different arguments: those that are wanted, by their ids. */
    final Map<String, Wanted> invocations = new LinkedHashMap<>();
    /** Instead of being run, such are only looked at, and added here. */
    List<TestDescriptor> looked;
    boolean isSetUp = true;
    /** Told before the first thing of a test is done. */
    Consumer<Wanted> before = test -> { };
    private final Set<TestDescriptor> children = new LinkedHashSet<>();
    private TestDescriptor parent;

    Shadow(TestDescriptor real, UniqueId id) {
        this.real = real;
        this.id = id;
        Class<?>[] types = {TestDescriptor.class, Node.class};
        self = (TestDescriptor) Proxy.newProxyInstance(Shadow.class.getClassLoader(), types, this);
    }

    static Shadow of(TestDescriptor descriptor) {
        return (Shadow) Proxy.getInvocationHandler(descriptor);
    }

    void add(Shadow child) {
        child.parent = self;
        children.add(child.self);
    }

    /** All tests that are to run in it. */
    List<Wanted> wanted() {
        List<Wanted> all = new ArrayList<>(invocations.values());
        if (whole != null) {
            all.add(whole);
        }
        children.forEach(child -> all.addAll(of(child).wanted()));
        return all;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "equals":
                return proxy == arguments[0];
            case "hashCode":
                return System.identityHashCode(this);
            case "toString":
                return id.toString();
            case "getUniqueId":
                return id;
            case "getParent":
                return Optional.ofNullable(parent);
            case "setParent":
                parent = (TestDescriptor) arguments[0];
                return null;
            case "getChildren":
                return Collections.unmodifiableSet(children);
            case "removeFromHierarchy":
                parent.removeChild(self);
                return null;
            case "removeChild":
                children.remove(arguments[0]);
                return null;
            case "isRoot":
                return false;
            case "prune":
                return null;
            case "accept":
                accept((TestDescriptor.Visitor) arguments[0]);
                return null;
            case "getDescendants":
                return descendants();
            case "findByUniqueId":
                return descendants().stream().filter(one -> one.getUniqueId().equals(arguments[0])).findFirst();
            case "prepare":
                wanted().stream().limit(1).forEach(before);
                return forward(method, arguments);
            case "before":
                return isSetUp ? forward(method, arguments) : arguments[0];
            case "after":
                return isSetUp ? forward(method, arguments) : null;
            case "execute":
                return forward(method, arguments[0], new Chosen((DynamicTestExecutor) arguments[1]));
            default:
                return forward(method, arguments);
        }
    }

    private Object forward(Method method, Object... arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private void accept(TestDescriptor.Visitor visitor) {
        visitor.visit(self);
        new ArrayList<>(children).forEach(child -> child.accept(visitor));
    }

    private Set<TestDescriptor> descendants() {
        Set<TestDescriptor> all = new LinkedHashSet<>();
        for (TestDescriptor child : children) {
            all.add(child);
            all.addAll(child.getDescendants());
        }
        return all;
    }

    /** Runs those of the tests that turn up on the way that are wanted. */
    private final class Chosen implements DynamicTestExecutor {
        private final DynamicTestExecutor executor;

        Chosen(DynamicTestExecutor executor) {
            this.executor = executor;
        }

        @Override
        public void execute(TestDescriptor test) {
            if (isChosen(test)) {
                executor.execute(test);
            }
        }

        @Override
        public Future<?> execute(TestDescriptor test, EngineExecutionListener listener) {
            return isChosen(test) ? executor.execute(test, listener) : java.util.concurrent.CompletableFuture.completedFuture(null);
        }

        @Override
        public void awaitFinished() throws InterruptedException {
            executor.awaitFinished();
        }

        private boolean isChosen(TestDescriptor test) {
            if (looked != null) {
                looked.add(test);
                return false;
            }
            Wanted one = invocations.get(test.getUniqueId().toString());
            if (one != null) {
                before.accept(one);
            }
            return invocations.isEmpty() || one != null;
        }
    }
}
