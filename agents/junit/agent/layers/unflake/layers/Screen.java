package unflake.layers;

import java.awt.Component;
import java.awt.Container;
import java.awt.Dialog;
import java.awt.EventQueue;
import java.awt.Frame;
import java.awt.Window;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What a person would see: the windows that show, with everything in them. Not where things are and how large: that follows from the
 * fonts of the machine and from what is told anyway. Nor what has the focus: the window system gives it when it gets to it.
 */
final class Screen {
    private static final int MOST = 5000;
    private static final long SECONDS = 5;
    /** What a component shows, by the names of methods without parameters. */
    private static final String[] PROPERTIES = {"getText", "getValue", "getSelectedItem", "getSelectedIndex", "getRowCount", "getToolTipText"};

    private static boolean isThere;

    private Screen() {
    }

    /** Whether the project has anything to do with windows. Nothing of them is loaded to find out. */
    static boolean isThere(Instrumentation jvm) {
        if (!isThere) {
            for (Class<?> type : jvm.getAllLoadedClasses()) {
                isThere |= type.getName().equals("java.awt.Window");
            }
        }
        return isThere;
    }

    /** Looks in the thread that windows belong to, and does not wait for one that hangs. */
    static void tell(Sheet sheet) {
        CountDownLatch seen = new CountDownLatch(1);
        List<String> tree = new ArrayList<>();
        StringBuilder titles = new StringBuilder();
        StringBuilder text = new StringBuilder();
        Runnable look = () -> {
            try {
                for (Window window : Window.getWindows()) {
                    if (window.isShowing()) {
                        titles.append(titles.length() == 0 ? "" : ", ").append(title(window));
                        describe(window, 0, tree, text);
                    }
                }
            } finally {
                seen.countDown();
            }
        };
        // A test may be torn down in the thread that windows belong to, or with its own interrupted.
        boolean wasInterrupted = Thread.interrupted();
        try {
            if (EventQueue.isDispatchThread()) {
                look.run();
            } else {
                EventQueue.invokeLater(look);
            }
            if (!seen.await(SECONDS, TimeUnit.SECONDS)) {
                sheet.gap("interface", "the thread that windows belong to did not answer");
                return;
            }
        } catch (InterruptedException stopped) {
            wasInterrupted = true;
            sheet.gap("interface", "the test was interrupted while windows were looked at");
            return;
        } catch (RuntimeException | LinkageError problem) {
            sheet.gap("interface", "windows cannot be looked at: " + problem);
            return;
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (!tree.isEmpty()) {
            sheet.step("the end of the test", titles.toString(), tree, text.toString());
        }
        if (tree.size() >= MOST) {
            sheet.gap("interface", "of windows with very many components only the beginning is told");
        }
    }

    private static String title(Window window) {
        return window instanceof Frame ? ((Frame) window).getTitle() : window instanceof Dialog ? ((Dialog) window).getTitle() : window.getClass().getSimpleName();
    }

    private static void describe(Component one, int depth, List<String> tree, StringBuilder text) {
        if (tree.size() >= MOST || !one.isVisible()) {
            return;
        }
        StringBuilder line = new StringBuilder();
        for (int at = 0; at < depth; at++) {
            line.append("  ");
        }
        line.append(kind(one));
        // Names that Java gives count how many there were before.
        if (one.getName() != null && !one.getName().matches("null\\..*|(frame|dialog|panel|win|canvas)\\d+")) {
            line.append(" name=").append(one.getName());
        }
        if (one instanceof Window) {
            line.append(" title=").append(title((Window) one));
        }
        for (String property : PROPERTIES) {
            Object value = read(one, property);
            if (value != null && !value.toString().isEmpty()) {
                line.append(' ').append(property.substring(3, 4).toLowerCase()).append(property.substring(4)).append('=').append(value);
                if (property.equals("getText")) {
                    text.append(value).append('\n');
                }
            }
        }
        if (Boolean.TRUE.equals(read(one, "isSelected"))) {
            line.append(" selected");
        }
        line.append(one.isEnabled() ? "" : " disabled");
        tree.add(line.toString());
        if (one instanceof Container) {
            for (Component child : ((Container) one).getComponents()) {
                describe(child, depth + 1, tree, text);
            }
        }
    }

    /** The class of Java's that it is, or is made from: one of the project's may have no name. */
    private static String kind(Component one) {
        Class<?> type = one.getClass();
        while (type.getSimpleName().isEmpty()) {
            type = type.getSuperclass();
        }
        return type.getSimpleName();
    }

    /** Only what Java's own classes answer: a project's could do anything. */
    private static Object read(Component one, String property) {
        try {
            Method method = one.getClass().getMethod(property);
            boolean isOfJava = method.getDeclaringClass().getName().matches("(java\\.awt|javax\\.swing)\\..*");
            Object value = isOfJava ? method.invoke(one) : null;
            return value instanceof String || value instanceof Number || value instanceof Boolean ? value : null;
        } catch (ReflectiveOperationException | RuntimeException absent) {
            return null;
        }
    }
}
