package unflake.junit;

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

/** Files of the module, and what is new in the temporary directory. Small files are kept to be put back. */
final class Disk {
    private static final int MOST_FILES = 20_000;
    private static final long LARGEST = 256 << 10;
    private static final long MOST_BYTES = 16 << 20;
    /** Not the project's own, or only ever written by tools. */
    private static final Set<String> SKIPPED = new HashSet<>(Arrays.asList(".git", ".hg", ".svn", ".unflake", ".idea", ".gradle", ".m2",
            "node_modules", "classes", "test-classes", "generated-sources", "generated-test-sources", "maven-status"));

    private static final class Entry {
        final boolean directory;
        final long size;
        final FileTime time;
        /** Null: not kept. */
        byte[] contents;

        Entry(BasicFileAttributes seen) {
            directory = seen.isDirectory();
            size = directory ? 0 : seen.size();
            time = seen.lastModifiedTime();
        }

        String text() {
            return directory ? "directory" : size + " bytes";
        }
    }

    final List<String> unknown = new ArrayList<>();
    /** What files are named from. */
    Path above = Paths.get("").toAbsolutePath();
    private final Path root = Paths.get("").toAbsolutePath();
    private final Path temporary = Paths.get(System.getProperty("java.io.tmpdir")).toAbsolutePath();
    private Map<Path, Entry> remembered = new TreeMap<>();
    private Set<Path> inTemporary = new HashSet<>();
    private long bytes;

    int remember() {
        remembered = look();
        inTemporary = temporaries();
        for (Map.Entry<Path, Entry> one : remembered.entrySet()) {
            Entry entry = one.getValue();
            if (!entry.directory && entry.size <= LARGEST && bytes + entry.size <= MOST_BYTES) {
                entry.contents = read(one.getKey());
                bytes += entry.size;
            }
        }
        return remembered.size();
    }

    private Map<Path, Entry> look() {
        Map<Path, Entry> found = new TreeMap<>();
        try {
            Files.walkFileTree(root, new SimpleFileVisitor<Path>() {
                @Override
                public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes seen) {
                    if (path.equals(root)) {
                        return FileVisitResult.CONTINUE;
                    }
                    return SKIPPED.contains(path.getFileName().toString()) ? FileVisitResult.SKIP_SUBTREE : visitFile(path, seen);
                }

                @Override
                public FileVisitResult visitFile(Path path, BasicFileAttributes seen) {
                    found.put(path, new Entry(seen));
                    return found.size() < MOST_FILES ? FileVisitResult.CONTINUE : FileVisitResult.TERMINATE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path path, IOException gone) {
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException closed) {
            unknown.add("files could not be looked at: " + closed);
        }
        if (found.size() >= MOST_FILES) {
            unknown.add("the module has more than " + MOST_FILES + " files; they were not compared");
            found.clear();
        }
        return found;
    }

    /** Others use it too: what is new in it is named, and is not certainly ours. */
    private Set<Path> temporaries() {
        Set<Path> found = new HashSet<>();
        if (root.startsWith(temporary) && root.getParent().equals(temporary)) {
            return found;
        }
        try (Stream<Path> all = Files.list(temporary)) {
            all.filter(path -> !path.getFileName().toString().startsWith("unflake") && !path.getFileName().toString().startsWith("hsperf"))
                    .filter(path -> !root.startsWith(path)).forEach(found::add);
        } catch (IOException | RuntimeException closed) {
            unknown.add("the temporary directory could not be looked at: " + closed);
        }
        return found;
    }

    private static byte[] read(Path path) {
        try {
            return Files.readAllBytes(path);
        } catch (IOException gone) {
            return null;
        }
    }

    /** Of what is new or gone as a whole, only the top. */
    List<Cell> changes() {
        List<Cell> cells = new ArrayList<>();
        if (!unknown.isEmpty()) {
            return cells;
        }
        Map<Path, Entry> now = look();
        Set<Path> paths = new java.util.TreeSet<>(remembered.keySet());
        paths.addAll(now.keySet());
        for (Path path : paths) {
            Entry was = remembered.get(path);
            Entry is = now.get(path);
            Path folder = path.getParent();
            boolean below = !folder.equals(root) && (!remembered.containsKey(folder) && was == null || !now.containsKey(folder) && is == null);
            if (below || !differ(path, was, is)) {
                continue;
            }
            boolean lost = was != null && !was.directory && was.contents == null;
            String fixed = lost ? "it is too large for a copy to be kept" : null;
            cells.add(new Cell("file " + above.relativize(path), "file", was == null ? null : was.text(), is == null ? null : is.text(), fixed,
                    () -> putBack(path)));
        }
        for (Path path : temporaries()) {
            if (!inTemporary.contains(path)) {
                cells.add(new Cell("file " + path, "file", null, "in the temporary directory",
                        "others use the temporary directory, too, and it may be theirs", null));
            }
        }
        return cells;
    }

    private static boolean differ(Path path, Entry was, Entry is) {
        if (was == null || is == null || was.directory != is.directory) {
            return true;
        }
        if (was.directory || was.size == is.size && was.time.equals(is.time)) {
            return false;
        }
        return was.size != is.size || was.contents == null || !Arrays.equals(was.contents, read(path));
    }

    /** A file, or everything below a directory. */
    private void putBack(Path top) throws IOException {
        if (Files.exists(top, java.nio.file.LinkOption.NOFOLLOW_LINKS) && !remembered.containsKey(top)) {
            remove(top);
        }
        for (Map.Entry<Path, Entry> one : remembered.entrySet()) {
            Path path = one.getKey();
            if (!path.startsWith(top)) {
                continue;
            }
            Entry entry = one.getValue();
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
        try (Stream<Path> all = Files.walk(top)) {
            for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(path);
            }
        }
    }
}
