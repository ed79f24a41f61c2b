package unflake.jvm.run;

import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

/** Finds test classes as Surefire 2.7 to 2.12 does: these find them in the process of the tests. */
final class SurefireScanner {
    private SurefireScanner() {
    }

    static List<String> classes(Properties settings) throws ReflectiveOperationException {
        Class<?> scanner = Class.forName("org.apache.maven.surefire.util.DefaultDirectoryScanner");
        Constructor<?> constructor = scanner.getConstructors()[0];
        Object[] arguments = new Object[constructor.getParameterCount()];
        arguments[0] = new File(settings.getProperty("testClassesDirectory"));
        arguments[1] = numbered(settings, "includes");
        arguments[2] = numbered(settings, "excludes");
        for (int index = 3; index < arguments.length; index++) {
            arguments[index] = neutral(constructor.getParameterTypes()[index]);
        }
        Method collect = scanner.getDeclaredMethod("collectTests");
        collect.setAccessible(true);
        return Arrays.asList((String[]) collect.invoke(constructor.newInstance(arguments)));
    }

    /** A list of classes, or a run order, which the caller applies itself. */
    private static Object neutral(Class<?> type) throws ReflectiveOperationException {
        if (type == List.class) {
            return new ArrayList<>();
        }
        return type == String.class ? "filesystem" : type.getField("FILESYSTEM").get(null);
    }

    private static List<String> numbered(Properties settings, String name) {
        List<String> values = new ArrayList<>();
        for (int index = 0; settings.getProperty(name + index) != null; index++) {
            values.add(settings.getProperty(name + index));
        }
        return values;
    }
}
