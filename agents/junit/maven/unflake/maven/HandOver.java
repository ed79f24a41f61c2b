package unflake.maven;

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
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.maven.execution.MojoExecutionEvent;
import org.apache.maven.execution.MojoExecutionListener;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.project.MavenProject;

/**
 * Has Surefire hand each module's tests over: just before it runs, fully configured, it is given another java to start,
 * which keeps all that it is started with. So no option of Surefire is read or understood here.
 */
public class HandOver implements MojoExecutionListener {
    private final AtomicInteger modules = new AtomicInteger();

    @Override
    public void beforeMojoExecution(MojoExecutionEvent event) throws MojoExecutionException {
        String desk = System.getProperty("unflake.desk");
        if (desk == null) {
            return;
        }
        String plugin = event.getExecution().getArtifactId();
        String goal = event.getExecution().getGoal();
        boolean integration = plugin.equals("maven-failsafe-plugin") && goal.equals("integration-test");
        if (!integration && !(plugin.equals("maven-surefire-plugin") && goal.equals("test"))) {
            return;
        }
        try {
            if (integration) {
                // What they need is up only while Maven is in this phase.
                set(event.getMojo(), "skipITs", true);
                note(Paths.get(desk), event.getProject(), "integration tests of Failsafe are not run");
            } else {
                handOver(Paths.get(desk), event);
            }
        } catch (IOException | ReflectiveOperationException error) {
            throw new MojoExecutionException("unflake cannot take over Surefire's tests: " + error);
        }
    }

    private void handOver(Path desk, MojoExecutionEvent event) throws IOException, ReflectiveOperationException {
        Object mojo = event.getMojo();
        MavenProject project = event.getProject();
        // Numbered in the order of the build, in three figures, so that names sort alike.
        Path place = desk.resolve(String.format("%03d", modules.getAndIncrement()));
        Files.createDirectories(place.resolve("bin"));
        Path java = place.resolve("bin").resolve("java");
        Files.copy(desk.resolve("java.sh"), java);
        if (!java.toFile().setExecutable(true)) {
            throw new IOException(java + " cannot be made executable");
        }
        Path real = realJava(mojo);
        // Surefire reads there which version it is.
        Path release = real.getParent().getParent().resolve("release");
        if (Files.exists(release)) {
            Files.copy(release, place.resolve("release"));
        }
        List<String> facts = new ArrayList<>();
        facts.add("java=" + real);
        facts.add("module=" + project.getArtifactId());
        facts.add("execution=" + event.getExecution().getExecutionId());
        facts.add("basedir=" + project.getBasedir());
        for (String root : project.getTestCompileSourceRoots()) {
            facts.add("tests=" + root);
        }
        for (String root : project.getCompileSourceRoots()) {
            facts.add("sources=" + root);
        }
        settings(mojo, facts);
        Files.write(place.resolve("module"), facts, StandardCharsets.UTF_8);
        set(mojo, "jvm", java.toString());
    }

    /** What would keep the tests from being handed over in one piece, and what is therefore not as the project wants it. */
    private static void settings(Object mojo, List<String> facts) throws ReflectiveOperationException {
        Object forks = get(mojo, "forkCount");
        Object reuse = get(mojo, "reuseForks");
        String mode = String.valueOf(get(mojo, "forkMode"));
        boolean apart = Boolean.FALSE.equals(reuse) && !"0".equals(forks) || mode.equals("always") || mode.equals("pertest");
        facts.add("apart=" + apart);
        if (forks != null && !forks.equals("1") && !forks.equals("0") && !apart) {
            facts.add("note=its classes share one process, not " + forks + " (forkCount)");
        }
        if ("0".equals(forks) || mode.equals("never")) {
            facts.add("note=its tests run in a process of their own, not in Maven's (forkCount)");
        }
        Object parallel = get(mojo, "parallel");
        if (parallel != null && !parallel.equals("") && !parallel.equals("none")) {
            facts.add("note=its tests run one after the other (parallel)");
        }
        if (get(mojo, "rerunFailingTestsCount") instanceof Integer && (Integer) get(mojo, "rerunFailingTestsCount") > 0) {
            facts.add("note=unflake runs again what failed (rerunFailingTestsCount)");
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

    private static void note(Path desk, MavenProject project, String text) throws IOException {
        Path place = Files.createTempDirectory(desk, "note");
        Files.write(place.resolve("note"), Collections.singletonList(project.getArtifactId() + ": " + text), StandardCharsets.UTF_8);
    }

    /** The one that Surefire would start. */
    private static Path realJava(Object mojo) throws ReflectiveOperationException {
        Object jvm = get(mojo, "jvm");
        if (jvm != null && !jvm.equals("")) {
            return Paths.get(jvm.toString()).toAbsolutePath();
        }
        Object toolchain = toolchain(mojo);
        if (toolchain != null) {
            Method find = toolchain.getClass().getMethod("findTool", String.class);
            find.setAccessible(true);
            Object tool = find.invoke(toolchain, "java");
            if (tool != null) {
                return Paths.get(tool.toString());
            }
        }
        return Paths.get(System.getProperty("java.home"), "bin", "java");
    }

    private static Object toolchain(Object mojo) throws ReflectiveOperationException {
        for (Class<?> one = mojo.getClass(); one != null; one = one.getSuperclass()) {
            for (Method method : one.getDeclaredMethods()) {
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

    /** A field that this version of Surefire does not have has nothing to be changed. */
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
        for (Class<?> one = mojo.getClass(); one != null; one = one.getSuperclass()) {
            for (Field field : one.getDeclaredFields()) {
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
