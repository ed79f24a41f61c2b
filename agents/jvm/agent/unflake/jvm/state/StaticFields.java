package unflake.jvm.state;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import unflake.jvm.util.JvmAccess;

/** The static fields of one class that tests can change. */
final class StaticFields {
    /**
     * JDK fields that hold process-wide state without a better access path: class, field, and the
     * name that people use.
     */
    private static final String[][] JDK_STATE = {
        {"java.net.URL", "factory", "URL.setURLStreamHandlerFactory"},
        {"java.net.URL", "handlers", "the handlers of java.net.URL"},
        {"java.net.URLConnection", "factory", "URLConnection.setContentHandlerFactory"},
        {"java.net.URLConnection", "fileNameMap", "URLConnection.getFileNameMap()"},
        {"java.net.URLConnection", "defaultUseCaches", "URLConnection.getDefaultUseCaches()"},
        {"java.net.HttpURLConnection", "followRedirects", "HttpURLConnection.getFollowRedirects()"},
        {"java.net.Socket", "factory", "Socket.setSocketImplFactory"},
        {"java.net.ServerSocket", "factory", "ServerSocket.setSocketFactory"},
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
        {"java.sql.DriverManager", "loginTimeout", "DriverManager.getLoginTimeout()"},
        {"java.sql.DriverManager", "logWriter", "DriverManager.getLogWriter()"},
        {"java.nio.charset.Charset", "defaultCharset", "Charset.defaultCharset()"},
        {"java.time.zone.ZoneRulesProvider", "ZONES", "ZoneRulesProvider.registerProvider"},
        {"java.util.prefs.Preferences", "factory", "Preferences.systemRoot()"},
        {"java.lang.ApplicationShutdownHooks", "hooks", "Runtime.addShutdownHook"},
        {"java.lang.management.ManagementFactory", "platformMBeanServer", "ManagementFactory.getPlatformMBeanServer()"},
    };

    final String path;
    final Field[] fields;
    /** What each field adds to the path. */
    final String[] names;

    private StaticFields(String path, Field[] fields, String[] names) {
        this.path = path;
        this.fields = fields;
        this.names = names;
    }

    /**
     * The static fields of all initialized classes by class name: the project's first, then those
     * of libraries, then the JDK's.
     */
    static Map<String, StaticFields> all(JvmAccess jvm) {
        Map<String, Class<?>> jdkClasses = new LinkedHashMap<>();
        for (Class<?> type : jvm.loadedClasses()) {
            if (!type.isArray() && !type.isPrimitive() && ObjectShape.isJdk(type) && jvm.isInitialized(type)) {
                jdkClasses.put(type.getName(), type);
            }
        }
        Map<String, StaticFields> result = new LinkedHashMap<>();
        for (Class<?> type : sourceClasses(jvm)) {
            Field[] fields = FieldAccess.staticFields(type);
            String[] names = new String[fields.length];
            for (int index = 0; index < fields.length; index++) {
                names[index] = "." + fields[index].getName();
            }
            if (fields.length > 0) {
                result.putIfAbsent(type.getName(), new StaticFields(sourceName(type), fields, names));
            }
        }
        for (String[] holder : JDK_STATE) {
            Class<?> type = jdkClasses.get(holder[0]);
            for (Field field : type == null ? new Field[0] : FieldAccess.staticFields(type)) {
                if (field.getName().equals(holder[1])) {
                    String name = holder[0] + "#" + holder[1];
                    result.put(name, new StaticFields(holder[2], new Field[] {field}, new String[] {""}));
                }
            }
        }
        return result;
    }

    /** The initialized classes of the project, then those of libraries. */
    static List<Class<?>> sourceClasses(JvmAccess jvm) {
        List<Class<?>> project = new ArrayList<>();
        List<Class<?>> libraries = new ArrayList<>();
        for (Class<?> type : jvm.loadedClasses()) {
            boolean isInherent = type.isArray() || type.isPrimitive() || ObjectShape.isJdk(type);
            if (!isInherent && isDeclaredInSource(type) && jvm.isInitialized(type)) {
                (isProjectClass(type) ? project : libraries).add(type);
            }
        }
        Comparator<Class<?>> byName = Comparator.comparing(Class::getName);
        project.sort(byName);
        libraries.sort(byName);
        project.addAll(libraries);
        return project;
    }

    /** Neither generated at run time nor part of the test runner. */
    private static boolean isDeclaredInSource(Class<?> type) {
        String name = type.getName();
        boolean isGenerated = name.indexOf('/') >= 0 || name.contains("$$") || name.contains("$Proxy") || type.isAnnotation();
        return !isGenerated && !ObjectShape.isRunnerClass(name);
    }

    /** Project classes are in directories, libraries in jars. */
    static boolean isProjectClass(Class<?> type) {
        try {
            return type.getProtectionDomain().getCodeSource().getLocation().getPath().endsWith("/");
        } catch (RuntimeException unknown) {
            return false;
        }
    }

    /** The name in source code. */
    static String sourceName(Class<?> type) {
        return type.getName().replaceAll("\\$(?=[\\p{L}_])", ".");
    }
}
