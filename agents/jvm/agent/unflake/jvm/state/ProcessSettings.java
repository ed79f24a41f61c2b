package unflake.jvm.state;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TimeZone;
import java.util.logging.Handler;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import unflake.jvm.util.ValueFormatter;

/**
 * Process-wide settings: properties, locale, time zone, streams, exception handlers, loggers. Paths
 * are the expressions that read them.
 */
final class ProcessSettings {
    /** A value and how to set it. */
    private static final class Setting {
        final String kind;
        final Object value;
        final Setter setter;

        Setting(String kind, Object value, Setter setter) {
            this.kind = kind;
            this.value = value;
            this.setter = setter;
        }
    }

    private interface Setter {
        void set(Object value) throws Exception;
    }

    private final boolean logging;
    private final boolean management;
    private Map<String, Setting> remembered = Collections.emptyMap();

    /** Whether JDK loggers and the MBean server are in use: asking them would initialize them. */
    ProcessSettings(boolean logging, boolean management) {
        this.logging = logging;
        this.management = management;
    }

    void remember() {
        remembered = read();
    }

    List<StateCell> changes() {
        Map<String, Setting> current = read();
        Set<String> paths = new LinkedHashSet<>(remembered.keySet());
        paths.addAll(current.keySet());
        List<StateCell> cells = new ArrayList<>();
        for (String path : paths) {
            Setting before = remembered.get(path);
            Setting after = current.get(path);
            Object oldValue = before == null ? null : before.value;
            Object value = after == null ? null : after.value;
            if (!ObjectShape.same(oldValue, value)) {
                Setting setting = before == null ? after : before;
                cells.add(new StateCell(path, setting.kind, textOf(oldValue), textOf(value), null, () -> setting.setter.set(oldValue)));
            }
        }
        return cells;
    }

    private static String textOf(Object value) {
        return value == null ? null : ValueFormatter.format(value);
    }

    private Map<String, Setting> read() {
        Map<String, Setting> settings = new LinkedHashMap<>();
        // The first call sets a property.
        String zone = TimeZone.getDefault().getID();
        properties(settings);
        for (Locale.Category category : Locale.Category.values()) {
            settings.put("Locale.getDefault(" + category + ")",
                    new Setting("locale", Locale.getDefault(category), value -> Locale.setDefault(category, (Locale) value)));
        }
        settings.put("Locale.getDefault()", new Setting("locale", Locale.getDefault(), value -> locale((Locale) value)));
        settings.put("TimeZone.getDefault()",
                new Setting("time zone", zone, value -> TimeZone.setDefault(TimeZone.getTimeZone((String) value))));
        settings.put("System.out", new Setting("stream", System.out, value -> System.setOut((java.io.PrintStream) value)));
        settings.put("System.err", new Setting("stream", System.err, value -> System.setErr((java.io.PrintStream) value)));
        settings.put("System.in", new Setting("stream", System.in, value -> System.setIn((java.io.InputStream) value)));
        settings.put("Thread.getDefaultUncaughtExceptionHandler()", new Setting("handler", Thread.getDefaultUncaughtExceptionHandler(),
                value -> Thread.setDefaultUncaughtExceptionHandler((Thread.UncaughtExceptionHandler) value)));
        Thread thread = Thread.currentThread();
        settings.put("Thread.currentThread().getContextClassLoader()", new Setting("thread", thread.getContextClassLoader(),
                value -> thread.setContextClassLoader((ClassLoader) value)));
        settings.put("Thread.currentThread().getName()",
                new Setting("thread", thread.getName(), value -> thread.setName((String) value)));
        settings.put("Thread.currentThread().getPriority()",
                new Setting("thread", thread.getPriority(), value -> thread.setPriority((Integer) value)));
        settings.put("Thread.currentThread().isInterrupted()", new Setting("thread", thread.isInterrupted(), value -> interrupt(thread, value)));
        if (logging) {
            loggers(settings);
        }
        if (management) {
            beans(settings);
        }
        return settings;
    }

    private static void beans(Map<String, Setting> settings) {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (ObjectName name : new java.util.TreeSet<>(server.queryNames(null, null))) {
            settings.put("MBean " + name, new Setting("MBean", "registered", value -> {
                if (value != null) {
                    throw new IllegalStateException("the MBean is gone");
                }
                server.unregisterMBean(name);
            }));
        }
    }

    /** Sets the default locale without its two categories. */
    private static void locale(Locale whole) {
        Locale display = Locale.getDefault(Locale.Category.DISPLAY);
        Locale format = Locale.getDefault(Locale.Category.FORMAT);
        Locale.setDefault(whole);
        Locale.setDefault(Locale.Category.DISPLAY, display);
        Locale.setDefault(Locale.Category.FORMAT, format);
    }

    private static void interrupt(Thread thread, Object value) {
        if ((Boolean) value) {
            thread.interrupt();
        } else {
            Thread.interrupted();
        }
    }

    private static void properties(Map<String, Setting> settings) {
        Properties properties = System.getProperties();
        for (String name : properties.stringPropertyNames()) {
            settings.put("System.getProperty(" + ObjectShape.key(name) + ")",
                    new Setting("system property", properties.getProperty(name), value -> property(name, value)));
        }
    }

    private static void property(String name, Object value) {
        if (value == null) {
            System.clearProperty(name);
        } else {
            System.setProperty(name, (String) value);
        }
    }

    private static void loggers(Map<String, Setting> settings) {
        LogManager manager = LogManager.getLogManager();
        Set<String> sorted = new java.util.TreeSet<>();
        for (Enumeration<String> names = manager.getLoggerNames(); names.hasMoreElements();) {
            sorted.add(names.nextElement());
        }
        for (String name : sorted) {
            Logger logger = manager.getLogger(name);
            if (logger == null) {
                continue;
            }
            String path = "Logger.getLogger(" + ObjectShape.key(name) + ")";
            // A new logger without own settings is no difference.
            level(settings, path + ".getLevel()", logger);
            if (!logger.getUseParentHandlers()) {
                settings.put(path + ".getUseParentHandlers()", new Setting("logger", false, value -> logger.setUseParentHandlers(value == null)));
            }
            int index = 0;
            for (Handler handler : logger.getHandlers()) {
                settings.put(path + ".getHandlers()[" + index++ + "]", new Setting("logger", handler, value -> handler(logger, handler, value)));
            }
        }
    }

    private static void level(Map<String, Setting> settings, String path, Logger logger) {
        if (logger.getLevel() != null) {
            String level = logger.getLevel().getName();
            settings.put(path, new Setting("logger", level,
                    value -> logger.setLevel(value == null ? null : java.util.logging.Level.parse((String) value))));
        }
    }

    private static void handler(Logger logger, Handler handler, Object oldValue) {
        logger.removeHandler(handler);
        if (oldValue != null) {
            logger.addHandler((Handler) oldValue);
        }
    }
}
