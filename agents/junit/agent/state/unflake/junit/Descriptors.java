package unflake.junit;

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

/** Files and ports that the process holds open, as Linux tells it. Elsewhere nothing is known of them, and nothing is said. */
final class Descriptors {
    private static final String LISTENING = "0A";

    private Map<String, String> remembered = Collections.emptyMap();

    void remember() {
        remembered = look();
    }

    List<Cell> changes() {
        List<Cell> cells = new ArrayList<>();
        look().forEach((name, what) -> {
            if (!remembered.containsKey(name)) {
                cells.add(new Cell(name, "descriptor", null, what, "whoever opened it alone can close it", null));
            }
        });
        return cells;
    }

    /** What is open, by name. */
    private static Map<String, String> look() {
        Map<String, String> found = new TreeMap<>();
        Map<String, String> ports = null;
        try (DirectoryStream<Path> all = Files.newDirectoryStream(Paths.get("/proc/self/fd"))) {
            for (Path one : all) {
                String target = targetOf(one);
                if (target.startsWith("socket:[")) {
                    ports = ports == null ? listening() : ports;
                    String port = ports.get(target.substring(8, target.length() - 1));
                    if (port != null) {
                        found.put("port " + port, "listening");
                    }
                } else if (target.startsWith("/") && !isOfJvm(target)) {
                    found.put("open file " + target, "open");
                }
            }
        } catch (IOException | RuntimeException elsewhere) {
            return Collections.emptyMap();
        }
        return found;
    }

    private static String targetOf(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closed) {
            return "";
        }
    }

    private static boolean isOfJvm(String path) {
        return path.endsWith(".jar") || path.endsWith("/modules") || path.endsWith(".jsa") || path.startsWith("/dev/") || path.startsWith("/proc/")
                || path.startsWith("/sys/");
    }

    /** Ports that somebody listens to, by the number of the socket. */
    private static Map<String, String> listening() throws IOException {
        Map<String, String> ports = new HashMap<>();
        for (String table : new String[] {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
            if (!Files.isReadable(Paths.get(table))) {
                continue;
            }
            for (String line : Files.readAllLines(Paths.get(table), StandardCharsets.US_ASCII)) {
                String[] words = line.trim().split("\\s+");
                if (words.length > 9 && words[3].equals(LISTENING)) {
                    String port = words[1].substring(words[1].indexOf(':') + 1);
                    ports.put(words[9], String.valueOf(Integer.parseInt(port, 16)));
                }
            }
        }
        return ports;
    }
}
