package unflake.jvm.layers;

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

/** The project's sources and their assertions. */
final class SourceIndex {
    private final File root;
    private final List<File> folders = new ArrayList<>();
    private final Map<String, List<String>> linesByFile = new HashMap<>();
    private final Map<String, File> files = new HashMap<>();
    /** Assertions by file, line and called method; null if several share these. */
    private final Map<String, AssertionSite> sites = new HashMap<>();

    SourceIndex(File root, List<String> folders) {
        this.root = root;
        for (String folder : folders) {
            this.folders.add(new File(folder));
        }
    }

    /** Reads a table of assertions. */
    void readSites(File table) throws IOException {
        int number = 0;
        for (String row : Files.readAllLines(table.toPath(), StandardCharsets.UTF_8)) {
            String[] columns = row.split("\t", 6);
            AssertionSite site = new AssertionSite(columns[0], columns[3], columns[5], Integer.parseInt(columns[4]), Integer.parseInt(columns[1]), number++);
            String key = key(columns[0], site.line, columns[2]);
            sites.put(key, sites.containsKey(key) ? null : site);
        }
    }

    private static String key(String file, int line, String method) {
        return file + ":" + line + ":" + method;
    }

    /** Index of the first frame of project code; -1 if there is none. */
    int caller(StackTraceElement[] stack) {
        for (int index = 0; index < stack.length; index++) {
            if (isOwn(stack[index])) {
                return index;
            }
        }
        return -1;
    }

    /** Whether the frame is project code. */
    boolean isOwn(StackTraceElement frame) {
        return frame.getFileName() != null && frame.getLineNumber() > 0 && find(frame) != null;
    }

    /** The assertion that this frame has called. */
    synchronized AssertionSite site(StackTraceElement frame, String method) {
        File file = find(frame);
        String relative = relative(root, file);
        AssertionSite site = sites.get(key(relative, frame.getLineNumber(), method));
        return site == null || !canBelongTo(site.function, frame) ? siteOfLine(file, relative, frame) : site;
    }

    /** The path below the root; the whole path of a file elsewhere. */
    static String relative(File root, File file) {
        String path = file.getPath();
        return path.startsWith(root.getPath() + "/") ? path.substring(root.getPath().length() + 1) : path;
    }

    /**
     * Whether the frame can belong to this function: sources may be newer than the compiled
     * classes.
     */
    private static boolean canBelongTo(String function, StackTraceElement frame) {
        String className = frame.getClassName().substring(frame.getClassName().lastIndexOf('.') + 1);
        String name = frame.getMethodName();
        String[] parts = className.split("\\$(?=\\d)", 2);
        if (parts.length > 1) {
            // An anonymous or local class.
            return function.startsWith(parts[0]);
        }
        if (name.startsWith("lambda$")) {
            name = name.substring(7, name.lastIndexOf('$'));
            // Some compilers leave the name of a nested lambda out.
            return function.equals(className + "." + name) || name.equals("null") && function.startsWith(className + ".");
        }
        return function.equals(className + "." + (name.equals("<init>") ? className.substring(className.lastIndexOf('$') + 1) : name));
    }

    private synchronized File find(StackTraceElement frame) {
        String className = frame.getClassName();
        return find(className.substring(0, className.lastIndexOf('.') + 1).replace('.', '/') + frame.getFileName());
    }

    private File find(String path) {
        if (!files.containsKey(path)) {
            File file = null;
            for (File folder : folders) {
                File candidate = new File(folder, path);
                file = file == null && candidate.isFile() ? candidate : file;
            }
            files.put(path, file);
        }
        return files.get(path);
    }

    /** An unknown assertion is identified by its line. */
    private AssertionSite siteOfLine(File file, String relative, StackTraceElement frame) {
        String path = file.getPath();
        int lineNumber = frame.getLineNumber();
        List<String> lines = linesByFile.get(path);
        if (lines == null) {
            lines = read(file);
            linesByFile.put(path, lines);
        }
        String expression = lineNumber <= lines.size() ? lines.get(lineNumber - 1) : "";
        int ordinal = lineNumber <= lines.size() ? Collections.frequency(lines.subList(0, lineNumber - 1), expression) : 0;
        String function = frame.getClassName().substring(frame.getClassName().lastIndexOf('.') + 1) + "." + frame.getMethodName();
        return new AssertionSite(relative, function, expression, ordinal, lineNumber, -1);
    }

    /** The lines without layout. */
    private static List<String> read(File file) {
        try {
            List<String> lines = new ArrayList<>();
            for (String line : new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8).split("\n", -1)) {
                lines.add(line.trim().replaceAll("\\s+", " ").replaceFirst(";$", ""));
            }
            return lines;
        } catch (IOException error) {
            return Arrays.asList();
        }
    }
}
