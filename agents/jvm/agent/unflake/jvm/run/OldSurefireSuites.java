package unflake.jvm.run;

import java.io.File;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;

/**
 * Finds test classes as the suites of Surefire before 2.7 do: a directory with patterns of Ant, and
 * the order of a hash map.
 */
final class OldSurefireSuites {
    private OldSurefireSuites() {
    }

    static boolean areIn(Properties settings) {
        return settings.getProperty("testSuite.0") != null;
    }

    static List<String> classes(Properties settings) {
        List<String> classes = new ArrayList<>();
        for (int index = 0; settings.getProperty("testSuite." + index) != null; index++) {
            String[] parameters = settings.getProperty("testSuite." + index + ".params", "").split("\\|");
            if (parameters.length >= 3) {
                List<String> found = new ArrayList<>();
                scan(new File(parameters[0]), "", patterns(parameters[1]), patterns(parameters[2]), found);
                classes.addAll(inOrder(found));
            }
        }
        return classes;
    }

    /** Surefire puts its test sets into a hash map, by their names. */
    private static List<String> inOrder(List<String> names) {
        Map<String, String> sets = new HashMap<>();
        for (String name : names) {
            if (!isAbstract(name)) {
                sets.put(name, name);
            }
        }
        return new ArrayList<>(sets.values());
    }

    /** A class that cannot be loaded is reported later. */
    private static boolean isAbstract(String name) {
        try {
            Class<?> type = Class.forName(name, false, Thread.currentThread().getContextClassLoader());
            return Modifier.isAbstract(type.getModifiers());
        } catch (ClassNotFoundException | LinkageError absent) {
            return false;
        }
    }

    private static void scan(File directory, String path, List<Pattern> included, List<Pattern> excluded, List<String> found) {
        String[] names = directory.list();
        for (String name : names == null ? new String[0] : names) {
            File file = new File(directory, name);
            if (file.isDirectory()) {
                scan(file, path + name + "/", included, excluded, found);
            } else if (name.endsWith(".class") && matches(path + name, included) && !matches(path + name, excluded)) {
                String type = path + name.substring(0, name.length() - ".class".length());
                found.add(type.replace('/', '.'));
            }
        }
    }

    private static boolean matches(String path, List<Pattern> patterns) {
        for (Pattern pattern : patterns) {
            if (pattern.matcher(path).matches()) {
                return true;
            }
        }
        return false;
    }

    /** Reads a list in brackets, whose patterns name sources. */
    private static List<Pattern> patterns(String list) {
        List<Pattern> patterns = new ArrayList<>();
        String inside = list.startsWith("[") && list.endsWith("]") ? list.substring(1, list.length() - 1) : list;
        for (String one : inside.split(",")) {
            String glob = one.trim().replaceFirst("\\.java$", ".class");
            if (!glob.isEmpty()) {
                patterns.add(Pattern.compile(regex(glob.endsWith("/") ? glob + "**" : glob)));
            }
        }
        return patterns;
    }

    private static String regex(String glob) {
        StringBuilder regex = new StringBuilder();
        for (int at = 0; at < glob.length(); at++) {
            if (glob.startsWith("**/", at)) {
                regex.append("(?:.*/)?");
                at += 2;
            } else if (glob.startsWith("**", at)) {
                regex.append(".*");
                at++;
            } else if (glob.charAt(at) == '*') {
                regex.append("[^/]*");
            } else if (glob.charAt(at) == '?') {
                regex.append("[^/]");
            } else {
                regex.append(Pattern.quote(glob.substring(at, at + 1)));
            }
        }
        return regex.toString();
    }
}
