package unflake.jvm.run;

import java.lang.reflect.Method;
import java.util.Properties;

/** The tests that {@code -Dtest=…} selects, by Surefire's own filter where it has one. */
abstract class TestSelection {
    abstract boolean includes(String className, String method) throws ReflectiveOperationException;

    /** Returns null if everything is selected. */
    static TestSelection of(Properties settings) throws ReflectiveOperationException {
        String methods = settings.getProperty("requestedTestMethod", "");
        if (!methods.isEmpty()) {
            return new OfMethods(methods);
        }
        String requested = settings.getProperty("requestedTest", "");
        Class<?> resolver = resolver();
        // Surefire before 2.19 has no filter, and lists the selected classes only.
        return requested.isEmpty() || resolver == null ? null : new OfSurefire(resolver, requested);
    }

    private static Class<?> resolver() {
        for (String name : new String[] {"api.testset.TestListResolver", "testset.TestListResolver"}) {
            try {
                return Class.forName("org.apache.maven.surefire." + name);
            } catch (ClassNotFoundException absent) {
                continue;
            }
        }
        return null;
    }

    private static final class OfSurefire extends TestSelection {
        private final Object filter;
        private final Method shouldRun;

        OfSurefire(Class<?> resolver, String requested) throws ReflectiveOperationException {
            filter = resolver.getConstructor(String.class).newInstance(requested);
            shouldRun = resolver.getMethod("shouldRun", String.class, String.class);
        }

        @Override
        boolean includes(String className, String method) throws ReflectiveOperationException {
            return (Boolean) shouldRun.invoke(filter, className.replace('.', '/') + ".class", method);
        }
    }

    /**
     * The format of Surefire before 2.19: {@code One*#a+b*,Two#c}, or only the part after
     * {@code #} for all classes.
     */
    static final class OfMethods extends TestSelection {
        private final String[] patterns;

        OfMethods(String text) {
            patterns = text.split(",");
        }

        @Override
        boolean includes(String className, String method) {
            for (String pattern : patterns) {
                int hash = pattern.indexOf('#');
                boolean hasClass = hash < 0 || matchesClass(pattern.substring(0, hash).trim(), className);
                if (hasClass && matchesMethod(pattern.substring(hash + 1).trim(), method)) {
                    return true;
                }
            }
            return false;
        }

        private static boolean matchesClass(String pattern, String className) {
            String name = pattern.replaceFirst("\\.(java|class)$", "").replace('/', '.').replaceFirst("^(\\*\\*\\.)+", "");
            return matches(name, className) || matches(name, className.substring(className.lastIndexOf('.') + 1));
        }

        private static boolean matchesMethod(String patterns, String method) {
            for (String pattern : patterns.split("\\+")) {
                if (matches(pattern, method)) {
                    return true;
                }
            }
            return false;
        }

        private static boolean matches(String pattern, String text) {
            StringBuilder regex = new StringBuilder();
            for (char one : pattern.toCharArray()) {
                regex.append(one == '*' ? ".*" : one == '?' ? "." : java.util.regex.Pattern.quote(String.valueOf(one)));
            }
            return text.matches(regex.toString());
        }
    }
}
