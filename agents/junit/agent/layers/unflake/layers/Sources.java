package unflake.layers;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The project's sources. */
final class Sources {
    private final File root;
    private final List<File> folders = new ArrayList<>();
    private final Map<String, List<String>> lines = new HashMap<>();
    private final Map<String, File> found = new HashMap<>();

    Sources(File root, List<String> folders) {
        this.root = root;
        for (String folder : folders) {
            this.folders.add(new File(folder));
        }
    }

    /** Who has asserted something, given who stands on whose shoulders. Null: none of the project's own code. */
    synchronized Place caller(StackTraceElement[] stack) {
        for (StackTraceElement frame : stack) {
            if (frame.getFileName() != null && frame.getLineNumber() > 0) {
                String type = frame.getClassName();
                int end = type.lastIndexOf('.');
                File file = find((end < 0 ? "" : type.substring(0, end + 1).replace('.', '/')) + frame.getFileName());
                if (file != null) {
                    return place(file, type.substring(end + 1) + "." + frame.getMethodName(), frame.getLineNumber());
                }
            }
        }
        return null;
    }

    private File find(String path) {
        if (!found.containsKey(path)) {
            File file = null;
            for (File folder : folders) {
                File candidate = new File(folder, path);
                file = file == null && candidate.isFile() ? candidate : file;
            }
            found.put(path, file);
        }
        return found.get(path);
    }

    private Place place(File file, String function, int line) {
        String path = file.getPath();
        List<String> text = lines.get(path);
        if (text == null) {
            text = read(file);
            lines.put(path, text);
        }
        String expression = line <= text.size() ? text.get(line - 1) : "";
        int ordinal = line <= text.size() ? Collections.frequency(text.subList(0, line - 1), expression) : 0;
        String relative = path.startsWith(root.getPath() + "/") ? path.substring(root.getPath().length() + 1) : path;
        return new Place(relative, function, expression, ordinal, line);
    }

    /** Its lines, without what layout makes of them. */
    private static List<String> read(File file) {
        try {
            List<String> lines = new ArrayList<>();
            for (String line : new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8).split("\n", -1)) {
                lines.add(line.trim().replaceAll("\\s+", " ").replaceFirst(";$", ""));
            }
            return lines;
        } catch (IOException problem) {
            return Arrays.asList();
        }
    }
}
