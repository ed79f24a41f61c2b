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
    /** The assertions of the sources, by file, line, and what is called there; null for those that could be one of several. */
    private final Map<String, Place> known = new HashMap<>();

    Sources(File root, List<String> folders) {
        this.root = root;
        for (String folder : folders) {
            this.folders.add(new File(folder));
        }
    }

    /** Takes in a table of assertions. */
    void know(File table) throws IOException {
        int site = 0;
        for (String one : Files.readAllLines(table.toPath(), StandardCharsets.UTF_8)) {
            String[] words = one.split("\t", 6);
            Place place = new Place(words[0], words[3], words[5], Integer.parseInt(words[4]), Integer.parseInt(words[1]), site++);
            String key = key(words[0], place.line, words[2]);
            known.put(key, known.containsKey(key) ? null : place);
        }
    }

    private static String key(String file, int line, String called) {
        return file + ":" + line + ":" + called;
    }

    /** Where the project's own code is on this stack; -1: nowhere. */
    int caller(StackTraceElement[] stack) {
        for (int at = 0; at < stack.length; at++) {
            if (isOwn(stack[at])) {
                return at;
            }
        }
        return -1;
    }

    /** Whether it is code of the project. */
    boolean isOwn(StackTraceElement frame) {
        return frame.getFileName() != null && frame.getLineNumber() > 0 && find(frame) != null;
    }

    /** The assertion that this code of the project has called. */
    synchronized Place place(StackTraceElement frame, String called) {
        File file = find(frame);
        String path = file.getPath();
        String relative = path.startsWith(root.getPath() + "/") ? path.substring(root.getPath().length() + 1) : path;
        Place place = known.get(key(relative, frame.getLineNumber(), called));
        return place == null || !isIn(place.function, frame) ? line(file, relative, frame) : place;
    }

    /** Whether this can be code of a function. Sources may be newer than what was compiled from them, and have other lines. */
    private static boolean isIn(String function, StackTraceElement frame) {
        String type = frame.getClassName().substring(frame.getClassName().lastIndexOf('.') + 1);
        String method = frame.getMethodName();
        String[] unnamed = type.split("\\$(?=\\d)", 2);
        if (unnamed.length > 1) {
            // A class without a name, or with one that only its method knows.
            return function.startsWith(unnamed[0]);
        }
        if (method.startsWith("lambda$")) {
            method = method.substring(7, method.lastIndexOf('$'));
            // One in another has no name in some versions.
            return function.equals(type + "." + method) || method.equals("null") && function.startsWith(type + ".");
        }
        return function.equals(type + "." + (method.equals("<init>") ? type.substring(type.lastIndexOf('$') + 1) : method));
    }

    private synchronized File find(StackTraceElement frame) {
        String type = frame.getClassName();
        return find(type.substring(0, type.lastIndexOf('.') + 1).replace('.', '/') + frame.getFileName());
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

    /** Where nothing else is known, an assertion has the name of its line. */
    private Place line(File file, String relative, StackTraceElement frame) {
        String path = file.getPath();
        int line = frame.getLineNumber();
        List<String> text = lines.get(path);
        if (text == null) {
            text = read(file);
            lines.put(path, text);
        }
        String expression = line <= text.size() ? text.get(line - 1) : "";
        int ordinal = line <= text.size() ? Collections.frequency(text.subList(0, line - 1), expression) : 0;
        String function = frame.getClassName().substring(frame.getClassName().lastIndexOf('.') + 1) + "." + frame.getMethodName();
        return new Place(relative, function, expression, ordinal, line, -1);
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
