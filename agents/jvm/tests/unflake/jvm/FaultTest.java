package unflake.jvm;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes each method of the agent throw, in a JVM of its own, and checks that no test fails by it:
 * either all tests pass, or the agent reports an internal error.
 *
 * <p>Arguments: the directory of the agent's classes, the jar of {@code FaultInjector}, the class
 * path of JUnit and the tests, how many methods to skip after each, and the test classes.
 */
public final class FaultTest {
    private static final String MARK = "<mark>";
    /** The channel to the driver, what the injector itself uses, and probes that only store a flag. */
    private static final Pattern EXCLUDED = Pattern.compile("unflake\\.jvm\\.(bytecode|isolation|warmup|protocol\\.(AgentError|DriverOutput|Json)|layers\\.CodeProbe|FaultTest).*");
    /** Methods that only guard others: JUnit, the JVM or instrumented code calls them. */
    private static final Set<String> GUARDS = new TreeSet<>(Arrays.asList(
            "main", "premain", "line", "value", "record", "initialValue", "childValue", "entered", "returned", "threw", "tearDown",
            "possibleTearDown", "pass", "result", "testStarted", "testFailure", "testAssumptionFailure", "testIgnored", "testFinished", "executionStarted",
            "executionSkipped", "executionFinished", "invoke", "discover", "execute", "getId", "write"));
    private static final Pattern GUARDING_LAMBDA = Pattern.compile("lambda\\$selecting\\$\\d+");

    private final Path folder = Files.createTempDirectory("faults");
    private final String injector;
    private final String classPath;
    private final String agent;
    private Path order;
    private int tests;

    private FaultTest(String classes, String injector, String rest) throws IOException {
        this.injector = injector;
        agent = classes;
        classPath = classes + File.pathSeparator + rest;
    }

    public static void main(String[] arguments) throws Exception {
        FaultTest test = new FaultTest(arguments[0], arguments[1], arguments[2]);
        test.prepare(Arrays.asList(arguments).subList(4, arguments.length));
        ExecutorService pool = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        List<Future<String>> results = new ArrayList<>();
        List<String> sites = new ArrayList<>(test.sites());
        for (int index = 0; index < sites.size(); index += 1 + Integer.parseInt(arguments[3])) {
            String site = sites.get(index);
            results.add(pool.submit(() -> test.check(site)));
        }
        pool.shutdown();
        int internal = 0;
        List<String> wrong = new ArrayList<>();
        for (Future<String> result : results) {
            internal += result.get().equals("internal") ? 1 : 0;
            if (!result.get().equals("internal") && !result.get().equals("passed")) {
                wrong.add(result.get());
            }
        }
        System.out.println(results.size() + " of " + sites.size() + " methods, " + internal + " internal errors");
        wrong.forEach(System.out::println);
        System.exit(wrong.isEmpty() && internal > results.size() / 4 ? 0 : 1);
    }

    private void prepare(List<String> classes) throws Exception {
        StringBuilder settings = new StringBuilder("providerConfiguration=org.apache.maven.surefire.junitplatform.JUnitPlatformProvider\n");
        for (int index = 0; index < classes.size(); index++) {
            settings.append("tc.").append(index).append('=').append(classes.get(index)).append('\n');
        }
        write("settings", settings.toString());
        write("system", "");
        write("roots", folder + "\n");
        for (String name : classes) {
            Path source = folder.resolve(name.replace('.', '/') + ".java");
            Files.createDirectories(source.getParent());
            Files.write(source, new byte[0]);
        }
        write("layers", "assertion,code,branch,behaviour,interface\n" + folder + "\n" + folder + "\n" + folder + "\n");
        write("layers.sites", "");
        write("state", "after 1\nroot " + folder + "\nreport " + folder.resolve("differences"));
        order = write("order", "");
        String listed = run(null, "values");
        List<String> keys = new ArrayList<>();
        for (Matcher key = Pattern.compile("\"test\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(listed); key.find(); ) {
            keys.add(key.group(1).replace("\\\"", "\"").replace("\\\\", "\\"));
        }
        tests = keys.size();
        order = write("order", String.join("\n", keys) + "\n");
        for (String features : new String[] {"values", "state"}) {
            String result = verdict(run(null, features));
            if (tests == 0 || !result.equals("passed")) {
                throw new IllegalStateException("without a fault: " + listed + result);
            }
        }
    }

    private Path write(String name, String text) throws IOException {
        return Files.write(folder.resolve(name), text.getBytes(StandardCharsets.UTF_8));
    }

    /** All methods of the agent, as {@code CLASS#METHOD}. */
    private Set<String> sites() throws IOException, ClassNotFoundException {
        Set<String> sites = new TreeSet<>();
        List<Path> files;
        try (Stream<Path> all = Files.walk(Paths.get(agent))) {
            files = all.filter(file -> file.toString().endsWith(".class")).collect(Collectors.toList());
        }
        for (Path file : files) {
            String path = Paths.get(agent).relativize(file).toString();
            String name = path.substring(0, path.length() - ".class".length()).replace(File.separatorChar, '.');
            if (EXCLUDED.matcher(name).matches()) {
                continue;
            }
            Class<?> type = Class.forName(name, false, FaultTest.class.getClassLoader());
            for (Method method : type.getDeclaredMethods()) {
                if (!Modifier.isAbstract(method.getModifiers()) && !GUARDS.contains(method.getName())
                        && !GUARDING_LAMBDA.matcher(method.getName()).matches()) {
                    sites.add(name + "#" + method.getName());
                }
            }
            for (Constructor<?> constructor : type.getDeclaredConstructors()) {
                if (!type.isEnum() && constructor.getParameterCount() > 0) {
                    sites.add(name + "#<init>");
                }
            }
        }
        return sites;
    }

    private String check(String site) throws Exception {
        String result = verdict(run(site, site.startsWith("unflake.jvm.state.") ? "state" : "values"));
        return result.equals("passed") || result.equals("internal") ? result : site + ": " + result;
    }

    private String verdict(String printed) {
        int passed = printed.split("\"outcome\":\"passed\"", -1).length - 1;
        if (Pattern.compile("\"outcome\":\"(failed|error|skipped)\"").matcher(printed).find()) {
            return printed;
        }
        boolean isInternal = printed.contains("\"internal\":") || printed.endsWith("exit 70");
        return isInternal ? "internal" : passed == tests ? "passed" : printed;
    }

    /** Lists all tests, runs them, and returns what the process printed. */
    private String run(String site, String features) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(Arrays.asList(Paths.get(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(Arrays.asList("-Xshare:auto", "-XX:TieredStopAtLevel=1"));
        if (site != null) {
            command.add("-javaagent:" + injector + "=" + site);
        }
        String files = features.equals("state") ? "state=" + folder.resolve("state") : "values=" + folder.resolve("roots") + ":layers=" + folder.resolve("layers");
        command.add("-javaagent:" + injector.replace("faults.jar", "agent.jar") + "=" + files);
        command.addAll(Arrays.asList("-cp", classPath, "unflake.jvm.Main", MARK));
        for (String name : new String[] {"settings", "system"}) {
            command.add(folder.resolve(name).toString());
        }
        command.add("-");
        ProcessBuilder start = new ProcessBuilder(command).redirectErrorStream(true);
        start.environment().put("UNFLAKE_TRACE", Files.createTempDirectory(folder, "trace").toString());
        Process process = start.start();
        process.getOutputStream().write((order + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().close();
        String printed = new String(readAll(process), StandardCharsets.UTF_8);
        return printed + "\nexit " + process.waitFor();
    }

    private static byte[] readAll(Process process) throws IOException {
        java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
        byte[] chunk = new byte[1 << 13];
        for (int count = process.getInputStream().read(chunk); count >= 0; count = process.getInputStream().read(chunk)) {
            bytes.write(chunk, 0, count);
        }
        return bytes.toByteArray();
    }
}
