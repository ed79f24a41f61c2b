package unflake.jvm.state;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Files and listening ports that the process has open, read from {@code /proc} on Linux. On other
 * systems nothing is reported.
 */
final class OpenDescriptors {
    private static final String LISTENING = "0A";

    private Map<String, String> remembered = Collections.emptyMap();

    void remember() {
        remembered = scan();
    }

    List<StateCell> changes() {
        List<StateCell> cells = new ArrayList<>();
        scan().forEach((name, what) -> {
            if (!remembered.containsKey(name)) {
                cells.add(new StateCell(name, "descriptor", null, what, "only the code that opened it can close it", null));
            }
        });
        return cells;
    }

    /** What is open, by name. */
    private static Map<String, String> scan() {
        Map<String, String> open = new TreeMap<>();
        Map<String, String> ports = null;
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Paths.get("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                String target = targetOf(descriptor);
                if (target.startsWith("socket:[")) {
                    ports = ports == null ? listening() : ports;
                    String port = ports.get(target.substring(8, target.length() - 1));
                    if (port != null) {
                        open.put("port " + port, "listening");
                    }
                } else if (target.startsWith("/") && !belongsToJvm(target)) {
                    open.put("open file " + target, "open");
                }
            }
        } catch (IOException | RuntimeException unsupported) {
            return Collections.emptyMap();
        }
        return open;
    }

    private static String targetOf(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closed) {
            return "";
        }
    }

    private static boolean belongsToJvm(String path) {
        return path.endsWith(".jar") || path.endsWith("/modules") || path.endsWith(".jsa") || path.startsWith("/dev/") || path.startsWith("/proc/")
                || path.startsWith("/sys/");
    }

    /** Listening ports by socket inode. */
    private static Map<String, String> listening() throws IOException {
        Map<String, String> ports = new HashMap<>();
        for (String table : new String[] {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
            if (!Files.isReadable(Paths.get(table))) {
                continue;
            }
            for (String line : Files.readAllLines(Paths.get(table), StandardCharsets.US_ASCII)) {
                String[] columns = line.trim().split("\\s+");
                if (columns.length > 9 && columns[3].equals(LISTENING)) {
                    String port = columns[1].substring(columns[1].indexOf(':') + 1);
                    ports.put(columns[9], String.valueOf(Integer.parseInt(port, 16)));
                }
            }
        }
        return ports;
    }
}
