package unflake.jvm.util;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The source files of classes, below the source directories of the project. */
public final class SourceFolders {
    private final List<File> roots = new ArrayList<>();
    /** Source directories by package name, with slashes. */
    private final Map<String, List<File>> foldersByPackage = new ConcurrentHashMap<>();

    public SourceFolders(List<String> roots) {
        for (String root : roots) {
            this.roots.add(new File(root));
        }
    }

    /** Whether the project has sources in the package of this class. The name has slashes. */
    public boolean mayHave(String name) {
        return !folders(name).isEmpty();
    }

    /** The source file of a class; null if the project has none. {@code source}: its name, or null. */
    public File find(String name, String source) {
        for (File folder : folders(name)) {
            File file = source == null ? null : new File(folder, source);
            if (file != null && file.isFile()) {
                return file;
            }
        }
        return null;
    }

    private List<File> folders(String name) {
        int end = name.lastIndexOf('/');
        return foldersByPackage.computeIfAbsent(end < 0 ? "" : name.substring(0, end), this::findFolders);
    }

    private List<File> findFolders(String name) {
        List<File> folders = new ArrayList<>();
        for (File root : roots) {
            File folder = new File(root, name);
            if (folder.isDirectory()) {
                folders.add(folder);
            }
        }
        return folders;
    }
}
