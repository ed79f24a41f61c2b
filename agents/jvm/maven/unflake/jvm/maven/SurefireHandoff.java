package unflake.jvm.maven;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.maven.execution.MojoExecutionEvent;
import org.apache.maven.execution.MojoExecutionListener;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.project.MavenProject;

/**
 * Makes Surefire and Failsafe hand over the tests of each module: just before they execute, fully
 * configured, they get another {@code java} to start, which records how it is started. So no option
 * of theirs has to be interpreted here.
 */
public class SurefireHandoff implements MojoExecutionListener {
    /** Stands for the number of a process; the driver replaces it. */
    private static final String FORK = "{unflake.fork}";

    private final AtomicInteger modules = new AtomicInteger();
    /** The modules in which a plugin has prepared the integration tests: a server runs until Maven ends it. */
    private final Set<Object> prepared = ConcurrentHashMap.newKeySet();

    @Override
    public void beforeMojoExecution(MojoExecutionEvent event) throws MojoExecutionException {
        String handoff = System.getProperty("unflake.handoff");
        if (handoff == null) {
            return;
        }
        if ("pre-integration-test".equals(event.getExecution().getLifecyclePhase())) {
            prepared.add(event.getProject().getBasedir());
        }
        String mojo = event.getExecution().getArtifactId() + ":" + event.getExecution().getGoal();
        try {
            switch (mojo) {
                case "maven-surefire-plugin:test":
                    handOver(Paths.get(handoff), event, false);
                    break;
                case "maven-failsafe-plugin:integration-test":
                    if (prepared.contains(event.getProject().getBasedir())) {
                        set(event.getMojo(), "skipITs", true);
                        String why = "what is started before them is stopped when Maven ends";
                        note(Paths.get(handoff), event.getProject(), "integration tests of Failsafe are not run: " + why);
                    } else {
                        handOver(Paths.get(handoff), event, true);
                    }
                    break;
                case "maven-failsafe-plugin:verify":
                    set(event.getMojo(), "skipITs", true); // It would read the results of an earlier run.
                    break;
                default:
            }
        } catch (IOException | ReflectiveOperationException error) {
            throw new MojoExecutionException("unflake cannot take over Surefire's tests: " + error);
        }
    }

    private void handOver(Path handoff, MojoExecutionEvent event, boolean areIntegrationTests) throws IOException, ReflectiveOperationException {
        Object mojo = event.getMojo();
        MavenProject project = event.getProject();
        // Three digits, so that names sort in build order.
        Path folder = handoff.resolve(String.format("%03d", modules.getAndIncrement()));
        Files.createDirectories(folder.resolve("bin"));
        Path java = folder.resolve("bin").resolve("java");
        Files.copy(handoff.resolve("java.sh"), java);
        if (!java.toFile().setExecutable(true)) {
            throw new IOException(java + " cannot be made executable");
        }
        Path realJava = findJava(mojo);
        // Surefire reads the Java version there.
        Path release = realJava.getParent().getParent().resolve("release");
        if (Files.exists(release)) {
            Files.copy(release, folder.resolve("release"));
        }
        List<String> lines = new ArrayList<>();
        lines.add("java=" + realJava);
        lines.add("surefire=" + event.getExecution().getVersion());
        lines.add("module=" + project.getArtifactId());
        lines.add("execution=" + event.getExecution().getExecutionId());
        lines.add("basedir=" + project.getBasedir());
        for (String root : project.getTestCompileSourceRoots()) {
            lines.add("tests=" + root);
        }
        for (String root : project.getCompileSourceRoots()) {
            lines.add("sources=" + root);
        }
        lines.add("threads=" + threads(event));
        lines.add("integration=" + areIntegrationTests);
        overrideSettings(mojo, lines);
        if (areIntegrationTests) {
            set(mojo, "summaryFile", folder.resolve("summary.xml").toFile());
        }
        Files.write(folder.resolve("module"), lines, StandardCharsets.UTF_8);
        set(mojo, "jvm", java.toString());
    }

    /**
     * Overrides settings that would split the run into several processes, which unflake starts
     * itself, and notes those that are not honoured.
     */
    private static void overrideSettings(Object mojo, List<String> lines) throws ReflectiveOperationException {
        Object forkCount = get(mojo, "forkCount");
        Object reuseForks = get(mojo, "reuseForks");
        String forkMode = String.valueOf(get(mojo, "forkMode"));
        boolean isPerClass = Boolean.FALSE.equals(reuseForks) && !"0".equals(forkCount) || forkMode.equals("always") || forkMode.equals("pertest");
        lines.add("apart=" + isPerClass);
        lines.add("forks=" + forks(String.valueOf(forkCount)));
        keepForkNumber(mojo);
        if ("0".equals(forkCount) || forkMode.equals("never")) {
            lines.add("note=its tests run in a process of their own, not in Maven's (forkCount)");
        }
        if (get(mojo, "rerunFailingTestsCount") instanceof Integer && (Integer) get(mojo, "rerunFailingTestsCount") > 0) {
            lines.add("note=unflake reruns failures itself (rerunFailingTestsCount)");
        }
        set(mojo, "forkCount", "1");
        set(mojo, "reuseForks", true);
        set(mojo, "forkMode", "once");
        set(mojo, "useSystemClassLoader", true);
        set(mojo, "useManifestOnlyJar", true);
        set(mojo, "useModulePath", false);
        set(mojo, "shutdown", "exit");
        set(mojo, "forkNode", null);
        set(mojo, "testFailureIgnore", true);
        set(mojo, "failIfNoTests", false);
        set(mojo, "failIfNoSpecifiedTests", false);
    }

    /** A number, or a multiple of the cores: {@code 1.5C}. */
    private static int forks(String forkCount) {
        try {
            boolean isOfCores = forkCount.endsWith("C");
            float number = Float.parseFloat(isOfCores ? forkCount.substring(0, forkCount.length() - 1) : forkCount);
            return Math.max(1, (int) (isOfCores ? number * Runtime.getRuntime().availableProcessors() : number));
        } catch (NumberFormatException absent) {
            return 1;
        }
    }

    /** The number of modules that Maven builds at the same time. */
    private static int threads(MojoExecutionEvent event) {
        try {
            Object session = MojoExecutionEvent.class.getMethod("getSession").invoke(event);
            Object request = session.getClass().getMethod("getRequest").invoke(session);
            return Math.max(1, (Integer) request.getClass().getMethod("getDegreeOfConcurrency").invoke(request));
        } catch (ReflectiveOperationException old) {
            return 1;
        }
    }

    /** Surefire would replace these by the number of its only process. */
    @SuppressWarnings("unchecked")
    private static void keepForkNumber(Object mojo) throws ReflectiveOperationException {
        Object argLine = get(mojo, "argLine");
        if (argLine instanceof String) {
            set(mojo, "argLine", numbered((String) argLine));
        }
        for (String setting : new String[] {"systemPropertyVariables", "environmentVariables"}) {
            Object values = get(mojo, setting);
            if (values instanceof Map && values.toString().contains("surefire.")) {
                ((Map<Object, Object>) values).replaceAll((name, value) -> value instanceof String ? numbered((String) value) : value);
            }
        }
    }

    private static String numbered(String text) {
        return text.replace("${surefire.forkNumber}", FORK).replace("${surefire.threadNumber}", FORK);
    }

    private static void note(Path handoff, MavenProject project, String text) throws IOException {
        Path folder = Files.createTempDirectory(handoff, "note");
        Files.write(folder.resolve("note"), Collections.singletonList(project.getArtifactId() + ": " + text), StandardCharsets.UTF_8);
    }

    /** The {@code java} that Surefire would start. */
    private static Path findJava(Object mojo) throws ReflectiveOperationException {
        Object jvm = get(mojo, "jvm");
        if (jvm != null && !jvm.equals("")) {
            return Paths.get(jvm.toString()).toAbsolutePath();
        }
        Object toolchain = toolchain(mojo);
        if (toolchain != null) {
            Method findTool = toolchain.getClass().getMethod("findTool", String.class);
            findTool.setAccessible(true);
            Object tool = findTool.invoke(toolchain, "java");
            if (tool != null) {
                return Paths.get(tool.toString());
            }
        }
        return Paths.get(System.getProperty("java.home"), "bin", "java");
    }

    private static Object toolchain(Object mojo) throws ReflectiveOperationException {
        for (Class<?> type = mojo.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals("getToolchain") && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(mojo);
                }
            }
        }
        return null;
    }

    private static Object get(Object mojo, String name) throws ReflectiveOperationException {
        Field field = field(mojo, name);
        return field == null ? null : field.get(mojo);
    }

    /** Ignores fields that this version of Surefire does not have. */
    private static void set(Object mojo, String name, Object value) throws ReflectiveOperationException {
        Field field = field(mojo, name);
        if (field != null) {
            boolean isSwitch = field.getType() == boolean.class || field.getType() == Boolean.class;
            if (value == null || isSwitch == value instanceof Boolean) {
                field.set(mojo, value);
            }
        }
    }

    private static Field field(Object mojo, String name) {
        for (Class<?> type = mojo.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        return null;
    }

    @Override
    public void afterMojoExecutionSuccess(MojoExecutionEvent event) {
    }

    @Override
    public void afterExecutionFailure(MojoExecutionEvent event) {
    }
}
