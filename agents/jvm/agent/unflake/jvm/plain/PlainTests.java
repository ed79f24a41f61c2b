package unflake.jvm.plain;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import unflake.jvm.run.RequestedTest;
import unflake.jvm.run.ResultReporter;
import unflake.jvm.run.TestFramework;
import unflake.jvm.run.TestModule;

/**
 * Runs methods that look like tests in classes of no test framework, as Surefire's provider for
 * JUnit 3 does: public instance methods whose names start with "test". Whether all of a class run on
 * one object, and {@code setUp} and {@code tearDown}, depends on the version of Surefire, which is asked.
 * Annotations of a framework that Surefire did not find have no effect.
 */
public final class PlainTests implements TestFramework {
    private static final String PREFIX = "plain:";
    private static final String TEST = "test";

    private final TestModule module;
    /** The class of the test before, and its object with the methods around each test. */
    private Class<?> current;
    private Fixture fixture;

    public PlainTests(TestModule module) {
        this.module = module;
    }

    @Override
    public boolean owns(String key) {
        return key.startsWith(PREFIX);
    }

    @Override
    public void list(List<Class<?>> classes, Listing listing) {
        for (Class<?> type : classes) {
            if (!isPlain(type)) {
                continue;
            }
            for (Method method : type.getMethods()) {
                String name = method.getName();
                if (name.startsWith(TEST) && name.length() > TEST.length() && isFixtureOrTest(method)) {
                    listing.add(PREFIX + type.getName() + "/" + name, type.getName(), name);
                }
            }
        }
    }

    /** Whether no adapter for JUnit 3 runs this class. */
    private boolean isPlain(Class<?> type) {
        for (Class<?> base = type; base != null; base = base.getSuperclass()) {
            if (base.getName().equals("junit.framework.TestCase")) {
                return false;
            }
        }
        try {
            type.getConstructor();
        } catch (NoSuchMethodException | LinkageError absent) {
            return false;
        }
        return !Modifier.isAbstract(type.getModifiers()) && (module.ignoresSuitesOfOthers || !hasSuite(type));
    }

    private static boolean hasSuite(Class<?> type) {
        try {
            Method suite = type.getMethod("suite");
            return Modifier.isStatic(suite.getModifiers()) && suite.getReturnType().getName().startsWith("junit.framework.");
        } catch (NoSuchMethodException absent) {
            return false;
        }
    }

    private static boolean isFixtureOrTest(Method method) {
        return !Modifier.isStatic(method.getModifiers()) && method.getReturnType() == void.class && method.getParameterCount() == 0;
    }

    @Override
    public void run(List<RequestedTest> tests, ResultReporter reporter) throws Exception {
        for (RequestedTest test : tests) {
            int slash = test.key.indexOf('/');
            String name = test.key.substring(slash + 1);
            Class<?> type = module.loadClass(test.key.substring(PREFIX.length(), slash));
            reporter.beforeTest(test);
            reporter.announce(test, type == null ? name : type.getName());
            reporter.start(test, type == null ? name : type.getName());
            if (type == null) {
                reporter.setUpFailed(test, new IllegalStateException("its class cannot be loaded: " + name));
                continue;
            }
            Throwable thrown = outcome(type, name);
            if (thrown == null) {
                reporter.passed(test);
            } else {
                reporter.failed(test, thrown);
            }
        }
        current = null;
        fixture = null;
    }

    /** Returns the first exception, or null. */
    private Throwable outcome(Class<?> type, String name) {
        Throwable thrown = setUp(type);
        if (thrown != null) {
            return thrown;
        }
        try {
            thrown = thrownBy(type.getMethod(name));
        } catch (NoSuchMethodException | LinkageError error) {
            thrown = error;
        }
        Throwable afterwards = thrownBy(fixture.tearDown);
        return thrown == null ? afterwards : thrown;
    }

    private Throwable setUp(Class<?> type) {
        try {
            if (current != type || Fixture.hasObjectPerTest()) {
                fixture = Fixture.of(type);
                current = type;
            }
            return thrownBy(fixture.setUp);
        } catch (InvocationTargetException failure) {
            return failure.getCause();
        } catch (ReflectiveOperationException | LinkageError error) {
            return error;
        }
    }

    /** Calls a method of the object, if there is one. */
    private Throwable thrownBy(Method method) {
        try {
            if (method != null) {
                method.setAccessible(true);
                method.invoke(fixture.instance);
            }
            return null;
        } catch (InvocationTargetException failure) {
            return failure.getCause();
        } catch (ReflectiveOperationException | LinkageError error) {
            return error;
        }
    }

    /** An object of a test class, and what runs before and after each test. */
    private static final class Fixture {
        private static final String[] SUREFIRE = {
            "org.apache.maven.surefire.junit.PojoTestSet", "org.apache.maven.surefire.testset.PojoTestSet"
        };

        private static final String WITH_OBJECT_PER_TEST = "org.apache.maven.surefire.junit.PojoTestSetExecutor";

        private final Object instance;
        private final Method setUp;
        private final Method tearDown;

        private Fixture(Object instance, Method setUp, Method tearDown) {
            this.instance = instance;
            this.setUp = setUp;
            this.tearDown = tearDown;
        }

        static boolean hasObjectPerTest() {
            try {
                Class.forName(WITH_OBJECT_PER_TEST, false, Fixture.class.getClassLoader());
                return true;
            } catch (ClassNotFoundException | LinkageError absent) {
                return false;
            }
        }

        static Fixture of(Class<?> type) throws ReflectiveOperationException {
            for (String name : SUREFIRE) {
                try {
                    return asSurefireDoes(Class.forName(name), type);
                } catch (ReflectiveOperationException | LinkageError other) {
                    continue;
                }
            }
            return new Fixture(type.getConstructor().newInstance(), method(type, "setUp"), method(type, "tearDown"));
        }

        /** Many versions overlook public methods with these names. */
        private static Fixture asSurefireDoes(Class<?> testSet, Class<?> type) throws ReflectiveOperationException {
            Object surefire = testSet.getConstructor(Class.class).newInstance(type);
            Method discover = testSet.getDeclaredMethod("discoverTestMethods");
            discover.setAccessible(true);
            discover.invoke(surefire);
            Object instance = get(testSet, surefire, "testObject");
            return new Fixture(
                    instance, (Method) get(testSet, surefire, "setUpMethod"), (Method) get(testSet, surefire, "tearDownMethod"));
        }

        private static Object get(Class<?> type, Object object, String name) throws ReflectiveOperationException {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(object);
        }

        private static Method method(Class<?> type, String name) {
            try {
                Method method = type.getMethod(name);
                return isFixtureOrTest(method) ? method : null;
            } catch (NoSuchMethodException absent) {
                return null;
            }
        }
    }
}
