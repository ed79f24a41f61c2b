package unflake.junit;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** What Surefire told the process that it would have started. */
final class Module {
    final List<String> classes = new ArrayList<>();
    final List<String> notes = new ArrayList<>();
    final Properties told;
    /** Whether code of the project has left this process in another state than a new one. */
    boolean isUsed;
    /** Surefire's own filter for {@code -Dtest=…}, and its method. */
    private Object filter;
    private Method shouldRun;

    private Module(Properties told) {
        this.told = told;
    }

    static Module read(String surefire, String system) throws IOException, ReflectiveOperationException {
        Module module = new Module(load(surefire, new Properties()));
        for (int at = 0; module.told.getProperty("tc." + at) != null; at++) {
            module.classes.add(module.told.getProperty("tc." + at));
        }
        module.order(module.told.getProperty("runOrder", "filesystem"));
        Properties own = load(system, new Properties());
        for (String name : own.stringPropertyNames()) {
            if (!name.startsWith("unflake.") && !name.equals("maven.ext.class.path")) {
                System.setProperty(name, own.getProperty(name));
            }
        }
        module.makeFilter(module.told.getProperty("requestedTest", ""));
        return module;
    }

    /** Surefire lists classes as it finds them; its own process orders them. */
    private void order(String runOrder) {
        if (runOrder.equals("alphabetical")) {
            Collections.sort(classes);
        } else if (runOrder.equals("reversealphabetical")) {
            Collections.sort(classes, Collections.reverseOrder());
        } else if (!runOrder.equals("filesystem")) {
            notes.add("its classes run in the order of their files, not " + runOrder + " (runOrder)");
        }
    }

    private static Properties load(String path, Properties into) throws IOException {
        try (InputStream file = new FileInputStream(path)) {
            into.load(file);
        }
        return into;
    }

    /** A class that cannot be loaded is Surefire's to complain about; here it is a note. */
    Class<?> load(String name) {
        try {
            return Class.forName(name, false, Thread.currentThread().getContextClassLoader());
        } catch (ClassNotFoundException | LinkageError problem) {
            notes.add(name + " cannot be loaded: " + problem);
            return null;
        }
    }

    boolean has(String name) {
        try {
            Class.forName(name, false, Thread.currentThread().getContextClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError absent) {
            return false;
        }
    }

    /** A list as Surefire writes it. */
    List<String> words(String name) {
        List<String> words = new ArrayList<>();
        for (String word : told.getProperty(name, "").split(",")) {
            if (!word.trim().isEmpty()) {
                words.add(word.trim());
            }
        }
        return words;
    }

    /** The project's settings for the JUnit Platform. */
    Map<String, String> parameters() throws IOException {
        Properties lines = new Properties();
        lines.load(new StringReader(told.getProperty("configurationParameters", "")));
        Map<String, String> parameters = new LinkedHashMap<>();
        for (String name : lines.stringPropertyNames()) {
            parameters.put(name, lines.getProperty(name));
        }
        return parameters;
    }

    private void makeFilter(String requested) throws ReflectiveOperationException {
        if (requested.isEmpty()) {
            return;
        }
        Class<?> resolver;
        try {
            resolver = Class.forName("org.apache.maven.surefire.api.testset.TestListResolver");
        } catch (ClassNotFoundException older) {
            resolver = Class.forName("org.apache.maven.surefire.testset.TestListResolver");
        }
        filter = resolver.getConstructor(String.class).newInstance(requested);
        shouldRun = resolver.getMethod("shouldRun", String.class, String.class);
    }

    boolean isWanted(String type, String method) {
        if (filter == null) {
            return true;
        }
        String bare = method.replaceFirst("[(\\[].*", "");
        try {
            String file = type.replace('.', '/') + ".class";
            return (Boolean) shouldRun.invoke(filter, file, method) || (Boolean) shouldRun.invoke(filter, file, bare);
        } catch (ReflectiveOperationException changed) {
            throw new IllegalStateException("this Surefire has another filter than was known: " + changed);
        }
    }
}
