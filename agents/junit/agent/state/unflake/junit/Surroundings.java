package unflake.junit;

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
import unflake.lines.Shown;

/** What a process has besides its objects: properties, locale, time zone, streams, handlers, loggers. By the names people use. */
final class Surroundings {
    /** Something that has a value, and how to give it another one. */
    private static final class Fact {
        final String kind;
        final Object value;
        final Put put;

        Fact(String kind, Object value, Put put) {
            this.kind = kind;
            this.value = value;
            this.put = put;
        }
    }

    private interface Put {
        void put(Object value) throws Exception;
    }

    private final boolean logging;
    private Map<String, Fact> remembered = Collections.emptyMap();

    /** `logging`: whether anybody uses the JDK's; to ask it would begin it. */
    Surroundings(boolean logging) {
        this.logging = logging;
    }

    int remember() {
        remembered = look();
        return remembered.size();
    }

    List<Cell> changes() {
        Map<String, Fact> now = look();
        Set<String> paths = new LinkedHashSet<>(remembered.keySet());
        paths.addAll(now.keySet());
        List<Cell> cells = new ArrayList<>();
        for (String path : paths) {
            Fact was = remembered.get(path);
            Fact is = now.get(path);
            Object old = was == null ? null : was.value;
            Object value = is == null ? null : is.value;
            if (!Shapes.same(old, value)) {
                Fact any = was == null ? is : was;
                cells.add(new Cell(path, any.kind, text(old), text(value), null, () -> any.put.put(old)));
            }
        }
        return cells;
    }

    private static String text(Object value) {
        return value == null ? null : Shown.of(value);
    }

    private Map<String, Fact> look() {
        Map<String, Fact> facts = new LinkedHashMap<>();
        // To ask for it the first time sets a property.
        String zone = TimeZone.getDefault().getID();
        properties(facts);
        for (Locale.Category category : Locale.Category.values()) {
            facts.put("Locale.getDefault(" + category + ")",
                    new Fact("locale", Locale.getDefault(category), value -> Locale.setDefault(category, (Locale) value)));
        }
        facts.put("Locale.getDefault()", new Fact("locale", Locale.getDefault(), value -> locale((Locale) value)));
        facts.put("TimeZone.getDefault()",
                new Fact("time zone", zone, value -> TimeZone.setDefault(TimeZone.getTimeZone((String) value))));
        facts.put("System.out", new Fact("stream", System.out, value -> System.setOut((java.io.PrintStream) value)));
        facts.put("System.err", new Fact("stream", System.err, value -> System.setErr((java.io.PrintStream) value)));
        facts.put("System.in", new Fact("stream", System.in, value -> System.setIn((java.io.InputStream) value)));
        facts.put("Thread.getDefaultUncaughtExceptionHandler()", new Fact("handler", Thread.getDefaultUncaughtExceptionHandler(),
                value -> Thread.setDefaultUncaughtExceptionHandler((Thread.UncaughtExceptionHandler) value)));
        Thread thread = Thread.currentThread();
        facts.put("Thread.currentThread().getContextClassLoader()", new Fact("thread", thread.getContextClassLoader(),
                value -> thread.setContextClassLoader((ClassLoader) value)));
        facts.put("Thread.currentThread().getName()",
                new Fact("thread", thread.getName(), value -> thread.setName((String) value)));
        facts.put("Thread.currentThread().getPriority()",
                new Fact("thread", thread.getPriority(), value -> thread.setPriority((Integer) value)));
        facts.put("Thread.currentThread().isInterrupted()", new Fact("thread", thread.isInterrupted(), value -> interrupt(thread, value)));
        if (logging) {
            loggers(facts);
        }
        return facts;
    }

    /** Of the locale as a whole, which takes its parts with it. */
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

    private static void properties(Map<String, Fact> facts) {
        Properties properties = System.getProperties();
        for (String name : properties.stringPropertyNames()) {
            facts.put("System.getProperty(" + Shapes.key(name) + ")",
                    new Fact("system property", properties.getProperty(name), value -> property(name, value)));
        }
    }

    private static void property(String name, Object value) {
        if (value == null) {
            System.clearProperty(name);
        } else {
            System.setProperty(name, (String) value);
        }
    }

    private static void loggers(Map<String, Fact> facts) {
        LogManager manager = LogManager.getLogManager();
        Set<String> names = new java.util.TreeSet<>();
        for (Enumeration<String> all = manager.getLoggerNames(); all.hasMoreElements();) {
            names.add(all.nextElement());
        }
        for (String name : names) {
            Logger logger = manager.getLogger(name);
            if (logger == null) {
                continue;
            }
            String path = "Logger.getLogger(" + Shapes.key(name) + ")";
            // One that is new and says nothing of its own is no difference.
            level(facts, path + ".getLevel()", logger);
            if (!logger.getUseParentHandlers()) {
                facts.put(path + ".getUseParentHandlers()", new Fact("logger", false, value -> logger.setUseParentHandlers(value == null)));
            }
            int at = 0;
            for (Handler handler : logger.getHandlers()) {
                facts.put(path + ".getHandlers()[" + at++ + "]", new Fact("logger", handler, value -> handler(logger, handler, value)));
            }
        }
    }

    private static void level(Map<String, Fact> facts, String path, Logger logger) {
        if (logger.getLevel() != null) {
            String level = logger.getLevel().getName();
            facts.put(path, new Fact("logger", level,
                    value -> logger.setLevel(value == null ? null : java.util.logging.Level.parse((String) value))));
        }
    }

    private static void handler(Logger logger, Handler handler, Object old) {
        logger.removeHandler(handler);
        if (old != null) {
            logger.addHandler((Handler) old);
        }
    }
}
