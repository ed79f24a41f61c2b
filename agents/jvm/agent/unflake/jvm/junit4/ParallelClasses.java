package unflake.jvm.junit4;

import java.lang.annotation.Annotation;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.junit.runner.Runner;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.run.TestModule;

/**
 * Runs classes, methods or both side by side, as the settings {@code parallel} and
 * {@code threadCount} of Surefire say. At most so many tests run at once as there are threads.
 */
final class ParallelClasses {
    private final boolean ofClasses;
    private final boolean ofMethods;
    private final Semaphore permits;
    private final ExecutorService threads = Executors.newCachedThreadPool();

    private ParallelClasses(boolean ofClasses, boolean ofMethods, int count) {
        this.ofClasses = ofClasses;
        this.ofMethods = ofMethods;
        permits = new Semaphore(count);
    }

    static boolean isConfigured(TestModule module) {
        String mode = mode(module);
        return module.settings.getProperty("providerConfiguration", "").contains("junitcore") && !mode.isEmpty() && !mode.equals("none");
    }

    static ParallelClasses of(TestModule module) {
        String mode = mode(module);
        boolean isAll = mode.contains("all") || mode.contains("both");
        return new ParallelClasses(isAll || mode.contains("classes") || mode.contains("suites"), isAll || mode.contains("methods"), count(module));
    }

    private static String mode(TestModule module) {
        return module.settings.getProperty("parallel", "").toLowerCase();
    }

    private static int count(TestModule module) {
        if (Boolean.parseBoolean(module.settings.getProperty("useUnlimitedThreads"))) {
            return Integer.MAX_VALUE;
        }
        int count = number(module, "threadcount") + number(module, "threadCount");
        if (count == 0) {
            count = number(module, "threadcountclasses") + number(module, "threadcountmethods") + number(module, "threadcountsuites");
        }
        boolean isPerCore = Boolean.parseBoolean(module.settings.getProperty("perCoreThreadCount", "true"));
        return Math.max(1, count) * (isPerCore ? Runtime.getRuntime().availableProcessors() : 1);
    }

    private static int number(TestModule module, String name) {
        try {
            return Integer.parseInt(module.settings.getProperty(name, "0"));
        } catch (NumberFormatException absent) {
            return 0;
        }
    }

    /** Runs these classes and waits for them. Those that are not thread-safe run last, one by one. */
    void run(List<Class<?>> classes, List<Runnable> runs) throws InterruptedException {
        List<Future<?>> started = new ArrayList<>();
        List<Runnable> sequential = new ArrayList<>();
        for (int index = 0; index < runs.size(); index++) {
            Runnable run = runs.get(index);
            if (!ofClasses || isNotThreadSafe(classes.get(index))) {
                sequential.add(run);
            } else {
                // Where methods run side by side too, each method needs a permit, and its class none.
                started.add(threads.submit(ofMethods ? run : permitted(run)));
            }
        }
        await(started);
        sequential.forEach(Runnable::run);
        threads.shutdown();
    }

    private static boolean isNotThreadSafe(Class<?> type) {
        for (Annotation annotation : type.getAnnotations()) {
            if (annotation.annotationType().getName().equals("net.jcip.annotations.NotThreadSafe")) {
                return true;
            }
        }
        return false;
    }

    private Runnable permitted(Runnable run) {
        return () -> {
            permits.acquireUninterruptibly();
            try {
                run.run();
            } finally {
                permits.release();
            }
        };
    }

    private static void await(List<Future<?>> started) throws InterruptedException {
        for (Future<?> future : started) {
            try {
                future.get();
            } catch (ExecutionException failed) {
                throw AgentError.end(failed.getCause());
            }
        }
    }

    /**
     * Makes a runner run its methods side by side, if it has a scheduler. Before JUnit 4.9 that has
     * other uses, and before 4.7 there is none.
     */
    void schedule(Runner runner, Class<?> type) throws ReflectiveOperationException {
        if (!ofMethods || isNotThreadSafe(type) || !hasRules()) {
            return;
        }
        for (Method method : runner.getClass().getMethods()) {
            if (method.getName().equals("setScheduler")) {
                Class<?>[] schedulers = method.getParameterTypes();
                method.invoke(runner, Proxy.newProxyInstance(schedulers[0].getClassLoader(), schedulers, new Scheduler()));
            }
        }
    }

    /** Implements {@code RunnerScheduler}. */
    private final class Scheduler implements InvocationHandler {
        private final List<Future<?>> started = new ArrayList<>();

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws InterruptedException {
            if (method.getName().equals("schedule")) {
                started.add(threads.submit(permitted((Runnable) arguments[0])));
            } else if (method.getName().equals("finished")) {
                await(started);
            }
            return null;
        }
    }

    private static boolean hasRules() {
        try {
            Class.forName("org.junit.rules.TestRule");
            return true;
        } catch (ClassNotFoundException old) {
            return false;
        }
    }
}
