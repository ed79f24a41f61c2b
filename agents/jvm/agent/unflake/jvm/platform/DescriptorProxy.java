package unflake.jvm.platform;

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
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.hierarchical.Node.DynamicTestExecutor;
import org.junit.platform.engine.support.hierarchical.Node;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.RequestedTest;

/**
 * Stands for a class or test in a tree that contains it as often, and in the order, requested. It
 * delegates to the real descriptor, whose own tree stays as discovered.
 */
final class DescriptorProxy implements InvocationHandler {
    final TestDescriptor self;
    final TestDescriptor real;
    final UniqueId id;
    /** The test that this proxy runs as a whole. */
    RequestedTest test;
    /** The requested invocations of a test template, by unique id. */
    final Map<String, RequestedTest> invocations = new LinkedHashMap<>();
    /** If not null, invocations are added to this list instead of being executed. */
    List<TestDescriptor> resolved;
    boolean runsSetUp = true;
    /** Called before anything of a test is executed. */
    Consumer<RequestedTest> beforeTest = test -> { };
    private final Set<TestDescriptor> children = new LinkedHashSet<>();
    private TestDescriptor parent;

    DescriptorProxy(TestDescriptor real, UniqueId id) {
        this.real = real;
        this.id = id;
        Class<?>[] types = {TestDescriptor.class, Node.class};
        self = (TestDescriptor) Proxy.newProxyInstance(DescriptorProxy.class.getClassLoader(), types, this);
    }

    static DescriptorProxy of(TestDescriptor descriptor) {
        return (DescriptorProxy) Proxy.getInvocationHandler(descriptor);
    }

    void add(DescriptorProxy child) {
        child.parent = self;
        children.add(child.self);
    }

    /** All requested tests in this subtree. */
    List<RequestedTest> requestedTests() {
        List<RequestedTest> all = new ArrayList<>(invocations.values());
        if (test != null) {
            all.add(test);
        }
        children.forEach(child -> all.addAll(of(child).requestedTests()));
        return all;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        try {
            return answer(proxy, method, arguments);
        } catch (ProjectException thrown) {
            throw thrown.getCause();
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }

    private Object answer(Object proxy, Method method, Object[] arguments) throws ReflectiveOperationException, ProjectException {
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
                return descendants().stream().filter(descendant -> descendant.getUniqueId().equals(arguments[0])).findFirst();
            case "prepare":
                requestedTests().stream().limit(1).forEach(beforeTest);
                return forward(method, arguments);
            case "before":
                return runsSetUp ? forward(method, arguments) : arguments[0];
            case "after":
                return runsSetUp ? forward(method, arguments) : null;
            case "execute":
                return forward(method, arguments[0], selecting((DynamicTestExecutor) arguments[1]));
            default:
                return forward(method, arguments);
        }
    }

    private Object forward(Method method, Object... arguments) throws ReflectiveOperationException, ProjectException {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException thrown) {
            throw new ProjectException(thrown.getCause());
        }
    }

    /** What a test, its set-up or an extension throws. */
    private static final class ProjectException extends Exception {
        private static final long serialVersionUID = 1;

        ProjectException(Throwable cause) {
            super(null, cause, false, false);
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

    /**
     * Executes the requested ones of the tests that a template or factory produces. The interface
     * has more methods in newer versions.
     */
    private DynamicTestExecutor selecting(DynamicTestExecutor executor) {
        Class<?>[] types = {DynamicTestExecutor.class};
        return (DynamicTestExecutor) Proxy.newProxyInstance(DescriptorProxy.class.getClassLoader(), types, (proxy, method, arguments) -> {
            try {
                return select(executor, method, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            } catch (Throwable error) {
                throw AgentError.end(error);
            }
        });
    }

    private Object select(DynamicTestExecutor executor, Method method, Object[] arguments) throws ReflectiveOperationException {
        if (method.getName().equals("execute") && !isRequested((TestDescriptor) arguments[0])) {
            return method.getReturnType() == void.class ? null : CompletableFuture.completedFuture(null);
        }
        return method.invoke(executor, arguments);
    }

    private boolean isRequested(TestDescriptor test) {
        if (resolved != null) {
            resolved.add(test);
            return false;
        }
        RequestedTest invocation = invocations.get(test.getUniqueId().toString());
        if (invocation != null) {
            beforeTest.accept(invocation);
        }
        return invocations.isEmpty() || invocation != null;
    }
}
