package unflake.jvm.testng;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.testng.TestNG;
import org.testng.annotations.Test;
import org.testng.xml.XmlClass;
import org.testng.xml.XmlMethodSelector;
import org.testng.xml.XmlSuite;
import org.testng.xml.XmlTest;
import unflake.jvm.run.TestModule;

/**
 * The suites that Surefire gives to TestNG: those of the project's suite files, or one of all test
 * classes. Surefire's own classes apply the options of the pom.
 */
final class SuitePlan {
    private static final String SUREFIRE = "org.apache.maven.surefire.testng.";
    private static final List<String> PARALLEL = Arrays.asList("parallel", "threadcount", "dataproviderthreadcount", "suitethreadpoolsize");

    private final TestModule module;
    private final Object configurator;

    SuitePlan(TestModule module) {
        this.module = module;
        String name = module.settings.getProperty("testng.configurator");
        Object found = null;
        try {
            found = name == null ? null : Class.forName(name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError absent) {
            module.notes.add("options of the pom for TestNG do not apply: " + absent);
        }
        configurator = found;
    }

    /** The number of {@code <test>}s. */
    int size() throws Exception {
        return tests(suites()).size();
    }

    /** All {@code <test>}s in order; a {@link TestKey} has a position in this list. */
    static List<XmlTest> tests(List<XmlSuite> suites) {
        List<XmlTest> tests = new ArrayList<>();
        suites.forEach(suite -> tests.addAll(suite.getTests()));
        return tests;
    }

    /** New suites for one run: TestNG changes those that it runs. */
    List<XmlSuite> suites() throws Exception {
        List<XmlSuite> suites = new ArrayList<>();
        List<String> files = files();
        for (String file : files) {
            addWithChildren(parse(file), suites);
        }
        if (files.isEmpty()) {
            addSuitesOfClasses(suites);
        }
        if (!module.runsAsConfigured) {
            suites.forEach(suite -> sequential(suite));
        }
        return suites;
    }

    /** Whether TestNG runs tests of these suites side by side. */
    static boolean isParallel(List<XmlSuite> suites) {
        for (XmlTest test : tests(suites)) {
            String mode = String.valueOf(test.getParallel()).toLowerCase();
            if (!mode.equals("none") && !mode.equals("false") && !mode.equals("null")) {
                return true;
            }
        }
        return false;
    }

    /** Whether the pom asks for that. */
    boolean hasParallelOption() {
        String mode = module.settings.getProperty("parallel", "none");
        return !mode.isEmpty() && !mode.equals("none") && !mode.equals("false");
    }

    boolean runsAsConfigured() {
        return module.runsAsConfigured;
    }

    private List<String> files() {
        List<String> files = new ArrayList<>();
        for (int index = 0; module.settings.getProperty("testSuiteXmlFiles" + index) != null; index++) {
            files.add(module.settings.getProperty("testSuiteXmlFiles" + index));
        }
        return files;
    }

    @SuppressWarnings("unchecked")
    private static Collection<XmlSuite> parse(String file) throws ReflectiveOperationException {
        Class<?> parser;
        try {
            parser = Class.forName("org.testng.xml.Parser");
        } catch (ClassNotFoundException moved) {
            parser = Class.forName("org.testng.xml.internal.Parser");
        }
        return (Collection<XmlSuite>) parser.getMethod("parse").invoke(parser.getConstructor(String.class).newInstance(file));
    }

    private static void addWithChildren(Collection<XmlSuite> parsed, List<XmlSuite> suites) {
        for (XmlSuite suite : parsed) {
            if (!suites.contains(suite)) {
                suites.add(suite);
            }
            List<XmlSuite> children = new ArrayList<>(suite.getChildSuites());
            suite.getChildSuites().clear();
            addWithChildren(children, suites);
        }
    }

    /** A suite and a {@code <test>} for each pair of names that classes ask for; one by default. */
    private void addSuitesOfClasses(List<XmlSuite> suites) throws Exception {
        Map<String, XmlSuite> byName = new LinkedHashMap<>();
        Map<String, XmlTest> tests = new LinkedHashMap<>();
        XmlMethodSelector groups = groupSelector();
        for (String name : module.classes) {
            Class<?> type = module.loadClass(name);
            if (type == null || isOfJUnit(type)) {
                continue;
            }
            Test annotation = annotationOf(type);
            String suiteName = annotation == null || annotation.suiteName().trim().isEmpty() ? "Surefire suite" : annotation.suiteName();
            String testName = annotation == null || annotation.testName().trim().isEmpty() ? "Surefire test" : annotation.testName();
            XmlSuite suite = byName.get(suiteName);
            if (suite == null) {
                suite = new XmlSuite();
                suite.setName(suiteName);
                configure(XmlSuite.class, suite);
                byName.put(suiteName, suite);
                suites.add(suite);
            }
            XmlTest test = tests.get(suiteName + "\n" + testName);
            if (test == null) {
                test = new XmlTest(suite);
                test.setName(testName);
                test.setXmlClasses(new ArrayList<>());
                if (groups != null) {
                    test.getMethodSelectors().add(groups);
                }
                tests.put(suiteName + "\n" + testName, test);
            }
            XmlClass listed = new XmlClass(name);
            if (setsIndex()) {
                call(listed, "setIndex", test.getXmlClasses().size());
            }
            test.getXmlClasses().add(listed);
        }
    }

    /** Newer versions of Surefire number the classes, which changes the order of TestNG. */
    private static boolean setsIndex() {
        try {
            Class.forName(SUREFIRE + "TestNGExecutor").getDeclaredMethod("newXmlClassInstance", String.class, int.class);
            return true;
        } catch (ReflectiveOperationException | LinkageError old) {
            return false;
        }
    }

    /** Surefire gives these to JUnit. */
    private static boolean isOfJUnit(Class<?> type) {
        for (Class<?> above = type; above != null; above = above.getSuperclass()) {
            for (Class<?> implemented : above.getInterfaces()) {
                if (implemented.getName().equals("junit.framework.Test")) {
                    return true;
                }
            }
            for (Method method : above.getDeclaredMethods()) {
                if (Arrays.stream(method.getAnnotations()).anyMatch(one -> one.annotationType().getName().equals("org.junit.Test"))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static Test annotationOf(Class<?> type) {
        for (Class<?> above = type; above != null; above = above.getSuperclass()) {
            if (above.isAnnotationPresent(Test.class)) {
                return above.getAnnotation(Test.class);
            }
        }
        return null;
    }

    private XmlMethodSelector groupSelector() throws ReflectiveOperationException {
        String included = module.settings.getProperty("groups");
        String excluded = module.settings.getProperty("excludegroups");
        if (included == null && excluded == null) {
            return null;
        }
        String name = SUREFIRE + "utils.GroupMatcherMethodSelector";
        try {
            Class.forName(name).getMethod("setGroups", String.class, String.class).invoke(null, included, excluded);
        } catch (ClassNotFoundException old) {
            return null;
        }
        return selector(name, 9999);
    }

    static XmlMethodSelector selector(String className, int priority) {
        XmlMethodSelector selector = new XmlMethodSelector();
        selector.setClassName(className);
        selector.setPriority(priority);
        return selector;
    }

    /** One test after the other. */
    private static void sequential(XmlSuite suite) {
        setWord(suite, "setParallel", "none");
        for (XmlTest test : suite.getTests()) {
            setWord(test, "setParallel", "none");
            setWord(test, "setPreserveOrder", "false");
            setWord(test, "setGroupByInstances", "false");
        }
    }

    /** Applies the options of the pom, as Surefire does. */
    void configure(TestNG testng) throws Exception {
        testng.setVerbose(0);
        configure(TestNG.class, testng);
        if (files().isEmpty() && groupSelector() == null) {
            // Build tools other than Maven, and old versions of Surefire.
            setGroups(testng, "setGroups", "groups");
            setGroups(testng, "setExcludedGroups", "excludegroups");
        }
        testng.setUseDefaultListeners(false);
    }

    private void setGroups(TestNG testng, String setter, String setting) {
        String groups = module.settings.getProperty(setting, "");
        if (!groups.isEmpty()) {
            call(testng, setter, groups);
        }
    }

    private void configure(Class<?> type, Object target) throws Exception {
        if (configurator == null) {
            return;
        }
        Map<String, String> options = new HashMap<>();
        for (String name : module.settings.stringPropertyNames()) {
            if (module.runsAsConfigured || !PARALLEL.contains(name.toLowerCase())) {
                options.put(name, module.settings.getProperty(name));
            }
        }
        Method configure;
        try {
            configure = configurator.getClass().getMethod("configure", type, Map.class);
        } catch (NoSuchMethodException old) {
            return;
        }
        try {
            configure.invoke(configurator, target, options);
        } catch (InvocationTargetException refused) {
            throw new IllegalStateException("Surefire's options for TestNG cannot be applied", refused.getCause());
        }
    }

    /** Calls a setter that some versions do not have. */
    private static void call(Object target, String name, Object argument) {
        for (Method method : target.getClass().getMethods()) {
            boolean fits = method.getName().equals(name) && method.getParameterCount() == 1;
            Class<?> type = fits ? method.getParameterTypes()[0] : null;
            if (fits && (type.isInstance(argument) || type == int.class && argument instanceof Integer)) {
                try {
                    method.invoke(target, argument);
                    return;
                } catch (ReflectiveOperationException refused) {
                    throw new IllegalStateException(name + " of TestNG failed", refused);
                }
            }
        }
    }

    /** Sets a value that is a text, a boolean or an enumeration, depending on the version. */
    private static void setWord(Object target, String name, String value) {
        for (Method method : target.getClass().getMethods()) {
            if (!method.getName().equals(name) || method.getParameterCount() != 1) {
                continue;
            }
            Class<?> type = method.getParameterTypes()[0];
            try {
                if (type == String.class) {
                    method.invoke(target, value);
                } else if (type == boolean.class || type == Boolean.class) {
                    method.invoke(target, Boolean.valueOf(value));
                } else if (type.isEnum()) {
                    method.invoke(target, type.getMethod("valueOf", String.class).invoke(null, value.toUpperCase()));
                }
                return;
            } catch (ReflectiveOperationException refused) {
                throw new IllegalStateException(name + " of TestNG failed", refused);
            }
        }
    }
}
