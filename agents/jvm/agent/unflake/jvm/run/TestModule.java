package unflake.jvm.run;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * One module: its test classes, filters and settings, read from the files that Surefire writes for
 * its process. The driver writes the same files for other build tools.
 */
public final class TestModule {
    public final List<String> classes = new ArrayList<>();
    public final List<String> notes = new ArrayList<>();
    public final Properties settings;
    /** Whether project code has run, so that this process is no fresh environment. */
    public boolean hasRunProjectCode;
    /** Whether the framework itself decides in which order, or how many at once, tests run. */
    public boolean hasOwnOrder;
    /** Whether tests run as the project configures it, and not one by one in a given order. */
    public boolean runsAsConfigured;
    /** Whether JUnit 3 runs only classes that are a {@code Test}, as with Surefire before 2.7. */
    public final boolean ignoresSuitesOfOthers;
    private TestSelection selection;

    private TestModule(Properties settings) {
        this.settings = settings;
        ignoresSuitesOfOthers = OldSurefireSuites.areIn(settings);
    }

    public static TestModule read(String surefire, String system) throws IOException, ReflectiveOperationException {
        TestModule module = new TestModule(readProperties(surefire));
        for (int index = 0; module.settings.getProperty("tc." + index) != null; index++) {
            module.classes.add(module.settings.getProperty("tc." + index));
        }
        if (module.classes.isEmpty() && module.settings.getProperty("testClassesDirectory") != null) {
            module.classes.addAll(SurefireScanner.classes(module.settings));
        }
        if (module.classes.isEmpty()) {
            module.classes.addAll(OldSurefireSuites.classes(module.settings));
        }
        module.order(module.settings.getProperty("runOrder", "filesystem"));
        Properties properties = readProperties(system);
        for (String name : properties.stringPropertyNames()) {
            if (!name.startsWith("unflake.") && !name.equals("maven.ext.class.path")) {
                System.setProperty(name, properties.getProperty(name));
            }
        }
        module.selection = TestSelection.of(module.settings);
        return module;
    }

    /** Surefire lists classes in file order and sorts them in its own process. */
    private void order(String runOrder) {
        if (runOrder.equals("alphabetical")) {
            Collections.sort(classes);
        } else if (runOrder.equals("reversealphabetical")) {
            Collections.sort(classes, Collections.reverseOrder());
        } else if (!runOrder.equals("filesystem")) {
            notes.add("its classes run in the order of their files, not " + runOrder + " (runOrder)");
        }
    }

    private static Properties readProperties(String path) throws IOException {
        Properties properties = new Properties();
        try (InputStream file = new FileInputStream(path)) {
            properties.load(file);
        }
        return properties;
    }

    /** Adds a note and returns null for a class that cannot be loaded. */
    public Class<?> loadClass(String name) {
        try {
            return Class.forName(name, false, Thread.currentThread().getContextClassLoader());
        } catch (ClassNotFoundException | LinkageError error) {
            notes.add(name + " cannot be loaded: " + error);
            return null;
        }
    }

    public boolean hasClass(String name) {
        try {
            Class.forName(name, false, Thread.currentThread().getContextClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError absent) {
            return false;
        }
    }

    /** A comma-separated list of Surefire's settings. */
    public List<String> list(String name) {
        List<String> elements = new ArrayList<>();
        for (String element : settings.getProperty(name, "").split(",")) {
            if (!element.trim().isEmpty()) {
                elements.add(element.trim());
            }
        }
        return elements;
    }

    /** The project's configuration parameters for the JUnit Platform. */
    public Map<String, String> parameters() throws IOException {
        Properties lines = new Properties();
        lines.load(new StringReader(settings.getProperty("configurationParameters", "")));
        Map<String, String> parameters = new LinkedHashMap<>();
        for (String name : lines.stringPropertyNames()) {
            parameters.put(name, lines.getProperty(name));
        }
        return parameters;
    }

    public boolean isSelected(String className, String method) {
        if (selection == null) {
            return true;
        }
        String bareName = method.replaceFirst("[(\\[].*", "");
        try {
            return selection.includes(className, method) || selection.includes(className, bareName);
        } catch (ReflectiveOperationException changed) {
            throw new IllegalStateException("this Surefire has an unknown filter: " + changed);
        }
    }
}
