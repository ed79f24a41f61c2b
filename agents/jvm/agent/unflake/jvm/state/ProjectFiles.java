package unflake.jvm.state;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Files of the module, and new entries of the temporary directory. Small files are copied so that
 * they can be restored.
 */
final class ProjectFiles {
    private static final int MAX_FILES = 20_000;
    private static final long MAX_FILE_SIZE = 256 << 10;
    private static final long MAX_TOTAL_BYTES = 16 << 20;
    /** Directories that are not the project's own or that only tools write. */
    private static final Set<String> IGNORED = new HashSet<>(Arrays.asList(".git", ".hg", ".svn", ".unflake", ".idea", ".gradle", ".m2",
            "node_modules", "classes", "test-classes", "generated-sources", "generated-test-sources", "maven-status"));

    private static final class Entry {
        final boolean directory;
        final long size;
        final FileTime time;
        /** Null if no copy is kept. */
        byte[] contents;

        Entry(BasicFileAttributes attributes) {
            directory = attributes.isDirectory();
            size = directory ? 0 : attributes.size();
            time = attributes.lastModifiedTime();
        }

        String text() {
            return directory ? "directory" : size + " bytes";
        }
    }

    final List<String> unknown = new ArrayList<>();
    /** The directory that reported paths are relative to. */
    Path base = Paths.get("").toAbsolutePath();
    private final Path root = Paths.get("").toAbsolutePath();
    private final Path temporary = Paths.get(System.getProperty("java.io.tmpdir")).toAbsolutePath();
    private Map<Path, Entry> remembered = new TreeMap<>();
    private Set<Path> rememberedTemporaries = new HashSet<>();
    private long copiedBytes;

    void remember() {
        remembered = scan();
        rememberedTemporaries = temporaries();
        for (Map.Entry<Path, Entry> saved : remembered.entrySet()) {
            Entry entry = saved.getValue();
            if (!entry.directory && entry.size <= MAX_FILE_SIZE && copiedBytes + entry.size <= MAX_TOTAL_BYTES) {
                entry.contents = read(saved.getKey());
                copiedBytes += entry.size;
            }
        }
    }

    private Map<Path, Entry> scan() {
        Map<Path, Entry> entries = new TreeMap<>();
        try {
            Files.walkFileTree(root, new SimpleFileVisitor<Path>() {
                @Override
                public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
                    if (path.equals(root)) {
                        return FileVisitResult.CONTINUE;
                    }
                    return IGNORED.contains(path.getFileName().toString()) ? FileVisitResult.SKIP_SUBTREE : visitFile(path, attributes);
                }

                @Override
                public FileVisitResult visitFile(Path path, BasicFileAttributes attributes) {
                    entries.put(path, new Entry(attributes));
                    return entries.size() < MAX_FILES ? FileVisitResult.CONTINUE : FileVisitResult.TERMINATE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path path, IOException gone) {
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException error) {
            unknown.add("files could not be compared: " + error);
        }
        if (entries.size() >= MAX_FILES) {
            unknown.add("the module has more than " + MAX_FILES + " files; they were not compared");
            entries.clear();
        }
        return entries;
    }

    /**
     * Other processes use the temporary directory too, so new entries are named but not certainly
     * the tests' own.
     */
    private Set<Path> temporaries() {
        Set<Path> entries = new HashSet<>();
        if (root.startsWith(temporary) && root.getParent().equals(temporary)) {
            return entries;
        }
        try (Stream<Path> paths = Files.list(temporary)) {
            paths.filter(path -> !belongsToTools(path.getFileName().toString())).filter(path -> !root.startsWith(path)).forEach(entries::add);
        } catch (IOException | RuntimeException error) {
            unknown.add("the temporary directory could not be compared: " + error);
        }
        return entries;
    }

    /** Of unflake, of the JVM and its attach mechanism. */
    private static boolean belongsToTools(String name) {
        return name.startsWith("unflake") || name.startsWith("hsperf") || name.startsWith(".java_pid") || name.startsWith(".attach_pid");
    }

    private static byte[] read(Path path) {
        try {
            return Files.readAllBytes(path);
        } catch (IOException gone) {
            return null;
        }
    }

    /** Of a new or removed directory only the top is reported. */
    List<StateCell> changes() {
        List<StateCell> cells = new ArrayList<>();
        if (!unknown.isEmpty()) {
            return cells;
        }
        Map<Path, Entry> current = scan();
        Set<Path> paths = new java.util.TreeSet<>(remembered.keySet());
        paths.addAll(current.keySet());
        for (Path path : paths) {
            Entry before = remembered.get(path);
            Entry after = current.get(path);
            Path parent = path.getParent();
            boolean isInsideChange = !parent.equals(root) && (!remembered.containsKey(parent) && before == null || !current.containsKey(parent) && after == null);
            if (isInsideChange || !differ(path, before, after)) {
                continue;
            }
            boolean isLost = before != null && !before.directory && before.contents == null;
            String fixed = isLost ? "it is too large to copy" : null;
            cells.add(new StateCell("file " + base.relativize(path), "file", before == null ? null : before.text(), after == null ? null : after.text(), fixed,
                    () -> restore(path)));
        }
        return cells;
    }

    List<StateCell> newTemporaries() {
        List<StateCell> cells = new ArrayList<>();
        for (Path path : temporaries()) {
            if (!rememberedTemporaries.contains(path)) {
                cells.add(new StateCell("file " + path, "file", null, "in the temporary directory",
                        "another program may have created it", null));
            }
        }
        return cells;
    }

    private static boolean differ(Path path, Entry before, Entry after) {
        if (before == null || after == null || before.directory != after.directory) {
            return true;
        }
        if (before.directory || before.size == after.size && before.time.equals(after.time)) {
            return false;
        }
        return before.size != after.size || before.contents == null || !Arrays.equals(before.contents, read(path));
    }

    /** Restores a file, or everything below a directory. */
    private void restore(Path top) throws IOException {
        if (Files.exists(top, java.nio.file.LinkOption.NOFOLLOW_LINKS) && !remembered.containsKey(top)) {
            remove(top);
        }
        for (Map.Entry<Path, Entry> saved : remembered.entrySet()) {
            Path path = saved.getKey();
            if (!path.startsWith(top)) {
                continue;
            }
            Entry entry = saved.getValue();
            if (entry.directory) {
                Files.createDirectories(path);
            } else if (entry.contents == null) {
                throw new IOException("no copy of " + root.relativize(path) + " was kept");
            } else {
                Files.write(path, entry.contents);
                Files.setLastModifiedTime(path, entry.time);
            }
        }
    }

    private static void remove(Path top) throws IOException {
        try (Stream<Path> paths = Files.walk(top)) {
            for (Path path : (Iterable<Path>) paths.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(path);
            }
        }
    }
}
