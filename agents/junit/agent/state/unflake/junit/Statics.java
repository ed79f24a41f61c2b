package unflake.junit;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The static fields of one class that tests can leave changed. */
final class Statics {
    /** Of the JDK: where the state of a whole process is held that has no better way to it. Each with what people call it. */
    private static final String[][] HOLDERS = {
        {"java.net.URL", "factory", "URL.setURLStreamHandlerFactory"},
        {"java.net.URLConnection", "factory", "URLConnection.setContentHandlerFactory"},
        {"java.net.Authenticator", "theAuthenticator", "Authenticator.getDefault()"},
        {"java.net.ProxySelector", "theProxySelector", "ProxySelector.getDefault()"},
        {"java.net.CookieHandler", "cookieHandler", "CookieHandler.getDefault()"},
        {"java.net.ResponseCache", "theResponseCache", "ResponseCache.getDefault()"},
        {"javax.net.ssl.HttpsURLConnection", "defaultHostnameVerifier", "HttpsURLConnection.getDefaultHostnameVerifier()"},
        {"javax.net.ssl.HttpsURLConnection", "defaultSSLSocketFactory", "HttpsURLConnection.getDefaultSSLSocketFactory()"},
        {"javax.net.ssl.SSLContext", "defaultContext", "SSLContext.getDefault()"},
        {"sun.security.jca.Providers", "providerList", "Security.getProviders()"},
        {"java.security.Security", "props", "Security.getProperty"},
        {"java.sql.DriverManager", "registeredDrivers", "DriverManager.getDrivers()"},
        {"java.lang.ApplicationShutdownHooks", "hooks", "Runtime.addShutdownHook"},
        {"java.lang.management.ManagementFactory", "platformMBeanServer", "ManagementFactory.getPlatformMBeanServer()"},
    };

    final Class<?> type;
    final String path;
    final Field[] fields;
    /** What each adds to the path. */
    final String[] names;

    private Statics(Class<?> type, String path, Field[] fields, String[] names) {
        this.type = type;
        this.path = path;
        this.fields = fields;
        this.names = names;
    }

    /** By name: of all classes that are initialised now, those of the project before those of what it uses, then the JDK's. */
    static Map<String, Statics> all(Opened jvm) {
        List<Class<?>> project = new ArrayList<>();
        List<Class<?>> others = new ArrayList<>();
        Map<String, Class<?>> holders = new LinkedHashMap<>();
        for (Class<?> type : jvm.loaded()) {
            if (type.isArray() || type.isPrimitive() || !jvm.isInitialised(type)) {
                continue;
            }
            if (Shapes.isJdk(type)) {
                holders.put(type.getName(), type);
            } else if (isNamed(type)) {
                (isOfProject(type) ? project : others).add(type);
            }
        }
        Comparator<Class<?>> byName = Comparator.comparing(Class::getName);
        project.sort(byName);
        others.sort(byName);
        project.addAll(others);
        Map<String, Statics> found = new LinkedHashMap<>();
        for (Class<?> type : project) {
            Field[] fields = Fields.statics(type);
            String[] names = new String[fields.length];
            for (int at = 0; at < fields.length; at++) {
                names[at] = "." + fields[at].getName();
            }
            if (fields.length > 0) {
                found.putIfAbsent(type.getName(), new Statics(type, written(type), fields, names));
            }
        }
        for (String[] holder : HOLDERS) {
            Class<?> type = holders.get(holder[0]);
            for (Field field : type == null ? new Field[0] : Fields.statics(type)) {
                if (field.getName().equals(holder[1])) {
                    String name = holder[0] + "#" + holder[1];
                    found.put(name, new Statics(type, holder[2], new Field[] {field}, new String[] {""}));
                }
            }
        }
        return found;
    }

    /** Not made up by the JVM or by a library while it runs, and not of whoever runs the tests. */
    private static boolean isNamed(Class<?> type) {
        String name = type.getName();
        boolean madeUp = name.indexOf('/') >= 0 || name.contains("$$") || name.contains("$Proxy") || type.isAnnotation();
        return !madeUp && !Shapes.isOfRunner(name);
    }

    /** Compiled into a directory, not packed. */
    private static boolean isOfProject(Class<?> type) {
        try {
            return type.getProtectionDomain().getCodeSource().getLocation().getPath().endsWith("/");
        } catch (RuntimeException unknown) {
            return false;
        }
    }

    /** As it is written in a source. */
    private static String written(Class<?> type) {
        return type.getName().replaceAll("\\$(?=[\\p{L}_])", ".");
    }
}
