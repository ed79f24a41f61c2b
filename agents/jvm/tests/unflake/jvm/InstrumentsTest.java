package unflake.jvm;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs tests without an instrument and with each instrument of the agent, and compares the outcomes.
 *
 * <p>Arguments: the jar of the agent, the directory with the sources of the tests, the class path of
 * JUnit, the agent and the tests, and the test classes.
 */
public final class InstrumentsTest {
    private static final String MARK = "<mark>";
    private static final Pattern LISTED = Pattern.compile("\"test\":\"((?:[^\"\\\\]|\\\\.)*)\"");
    private static final Pattern DONE = Pattern.compile("\"done\":(\\d+),\"outcome\":\"(\\w+)\"");

    private final Path folder = Files.createTempDirectory("instruments");
    private final String agent;
    private final String classPath;

    private InstrumentsTest(String agent, String classPath) throws IOException {
        this.agent = agent;
        this.classPath = classPath;
    }

    public static void main(String[] arguments) throws Exception {
        InstrumentsTest test = new InstrumentsTest(arguments[0], arguments[2]);
        int differences = test.compare(arguments[1], Arrays.asList(arguments).subList(3, arguments.length));
        System.exit(differences == 0 ? 0 : 1);
    }

    private int compare(String sources, List<String> classes) throws Exception {
        StringBuilder settings = new StringBuilder("providerConfiguration=org.apache.maven.surefire.junitplatform.JUnitPlatformProvider\n");
        for (int index = 0; index < classes.size(); index++) {
            settings.append("tc.").append(index).append('=').append(classes.get(index)).append('\n');
        }
        write("settings", settings.toString());
        write("system", "");
        write("roots", sources + "\n");
        write("state", "after 1\nroot " + folder + "\nreport " + folder.resolve("differences"));
        write("seeds", "");
        write("layers.sites", "");
        List<String> keys = keys(run(write("order", ""), ""));
        Path order = write("order", String.join("\n", keys) + "\n");
        Map<String, String> instruments = new LinkedHashMap<>();
        for (String layers : new String[] {"assertion", "code", "branch", "behaviour", "interface", "assertion,code,branch,behaviour,interface", "assertion,filter"}) {
            write("layers-" + layers + ".sites", "");
            write("layers-" + layers, layers + "\n" + folder + "\n" + sources + "\n" + sources + "\n");
            instruments.put("layers " + layers, "layers=" + folder.resolve("layers-" + layers));
        }
        for (String name : new String[] {"lines=roots", "values=roots", "state=state", "seeds=seeds"}) {
            instruments.put(name, name.replace("=", "=" + folder + File.separator));
        }
        Map<Integer, String> plain = outcomes(run(order, ""));
        int differences = 0;
        if (keys.isEmpty() || plain.size() != keys.size() || !plain.values().stream().allMatch("passed"::equals)) {
            System.out.println("without an instrument: " + plain + " of " + keys);
            differences++;
        }
        for (Map.Entry<String, String> instrument : instruments.entrySet()) {
            String printed = run(order, instrument.getValue());
            Map<Integer, String> found = outcomes(printed);
            int files = printed.split("\"layers\":", -1).length - 1;
            if (instrument.getKey().startsWith("layers") && files != keys.size()) {
                differences++;
                System.out.println(instrument.getKey() + ": only " + files + " tests were recorded");
            }
            for (int test = 0; test < keys.size(); test++) {
                if (!String.valueOf(plain.get(test)).equals(found.get(test))) {
                    differences++;
                    System.out.println(instrument.getKey() + ": " + keys.get(test) + ": " + plain.get(test) + ", " + found.get(test) + "\n" + message(printed, test));
                }
            }
        }
        System.out.println(keys.size() + " tests, " + instruments.size() + " instruments, " + differences + " differences");
        return differences;
    }

    private static String message(String printed, int test) {
        int at = printed.indexOf("\"done\":" + test + ",");
        return at < 0 ? printed.substring(Math.max(0, printed.length() - 2000)) : printed.substring(at, Math.min(printed.length(), at + 1500));
    }

    private static List<String> keys(String printed) {
        List<String> keys = new ArrayList<>();
        for (Matcher key = LISTED.matcher(printed); key.find();) {
            keys.add(key.group(1).replace("\\\"", "\"").replace("\\\\", "\\"));
        }
        return keys;
    }

    private static Map<Integer, String> outcomes(String printed) {
        Map<Integer, String> outcomes = new TreeMap<>();
        for (Matcher done = DONE.matcher(printed); done.find();) {
            outcomes.put(Integer.parseInt(done.group(1)), done.group(2));
        }
        return outcomes;
    }

    private Path write(String name, String text) throws IOException {
        return Files.write(folder.resolve(name), text.getBytes(StandardCharsets.UTF_8));
    }

    /** Lists all tests, runs those of the order, and returns what the process printed. */
    private String run(Path order, String features) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(Arrays.asList(Paths.get(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(Arrays.asList("-Xshare:auto", "-Xmx256m", "-Dawkward.classes=" + classPath));
        if (!features.isEmpty()) {
            command.add("-javaagent:" + agent + "=" + features);
        }
        command.addAll(Arrays.asList("-cp", classPath, "unflake.jvm.Main", MARK));
        command.add(folder.resolve("settings").toString());
        command.add(folder.resolve("system").toString());
        command.add("-");
        ProcessBuilder start = new ProcessBuilder(command).redirectErrorStream(true);
        if (features.startsWith("lines") || features.startsWith("values")) {
            start.environment().put("UNFLAKE_TRACE", Files.createTempDirectory(folder, "trace").toString());
        }
        Process process = start.start();
        process.getOutputStream().write((order + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().close();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] chunk = new byte[1 << 13];
        for (int count = process.getInputStream().read(chunk); count >= 0; count = process.getInputStream().read(chunk)) {
            bytes.write(chunk, 0, count);
        }
        return bytes.toString("UTF-8") + "\nexit " + process.waitFor();
    }
}
