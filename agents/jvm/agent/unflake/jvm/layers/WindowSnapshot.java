package unflake.jvm.layers;

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
 * The visible AWT and Swing windows with their contents. Positions and sizes depend on the fonts of
 * the machine and are left out, and so is the focus, which the window system assigns
 * asynchronously.
 */
final class WindowSnapshot {
    private static final int MAX_COMPONENTS = 5000;
    private static final long TIMEOUT_SECONDS = 5;
    /** Methods without parameters that return what a component shows. */
    private static final String[] PROPERTIES = {"getText", "getValue", "getSelectedItem", "getSelectedIndex", "getRowCount", "getToolTipText"};

    private static boolean isAwtLoaded;

    private WindowSnapshot() {
    }

    /** Whether the project uses windows; checked without loading AWT. */
    static boolean isAwtLoaded(Instrumentation jvm) {
        if (!isAwtLoaded) {
            for (Class<?> type : jvm.getAllLoadedClasses()) {
                isAwtLoaded |= type.getName().equals("java.awt.Window");
            }
        }
        return isAwtLoaded;
    }

    /** Reads the windows on the event dispatch thread, with a time limit. */
    static void record(LayerFile file) {
        CountDownLatch done = new CountDownLatch(1);
        List<String> tree = new ArrayList<>();
        StringBuilder titles = new StringBuilder();
        StringBuilder text = new StringBuilder();
        Runnable read = () -> {
            try {
                for (Window window : Window.getWindows()) {
                    if (window.isShowing()) {
                        titles.append(titles.length() == 0 ? "" : ", ").append(title(window));
                        describe(window, 0, tree, text);
                    }
                }
            } finally {
                done.countDown();
            }
        };
        // A tear-down may run on the event dispatch thread, or on an interrupted thread.
        boolean wasInterrupted = Thread.interrupted();
        try {
            if (EventQueue.isDispatchThread()) {
                read.run();
            } else {
                EventQueue.invokeLater(read);
            }
            if (!done.await(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                file.gap("interface", "the thread that windows belong to did not answer");
                return;
            }
        } catch (InterruptedException stopped) {
            wasInterrupted = true;
            file.gap("interface", "the test was interrupted while windows were recorded");
            return;
        } catch (RuntimeException | LinkageError error) {
            file.gap("interface", "windows cannot be recorded: " + error);
            return;
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (!tree.isEmpty()) {
            file.step("the end of the test", titles.toString(), tree, text.toString());
        }
        if (tree.size() >= MAX_COMPONENTS) {
            file.gap("interface", "windows with very many components were truncated");
        }
    }

    private static String title(Window window) {
        return window instanceof Frame ? ((Frame) window).getTitle() : window instanceof Dialog ? ((Dialog) window).getTitle() : window.getClass().getSimpleName();
    }

    private static void describe(Component component, int depth, List<String> tree, StringBuilder text) {
        if (tree.size() >= MAX_COMPONENTS || !component.isVisible()) {
            return;
        }
        StringBuilder line = new StringBuilder();
        for (int level = 0; level < depth; level++) {
            line.append("  ");
        }
        line.append(className(component));
        // Default names contain a counter.
        if (component.getName() != null && !component.getName().matches("null\\..*|(frame|dialog|panel|win|canvas)\\d+")) {
            line.append(" name=").append(component.getName());
        }
        if (component instanceof Window) {
            line.append(" title=").append(title((Window) component));
        }
        for (String property : PROPERTIES) {
            Object value = property(component, property);
            if (value != null && !value.toString().isEmpty()) {
                line.append(' ').append(property.substring(3, 4).toLowerCase()).append(property.substring(4)).append('=').append(value);
                if (property.equals("getText")) {
                    text.append(value).append('\n');
                }
            }
        }
        if (Boolean.TRUE.equals(property(component, "isSelected"))) {
            line.append(" selected");
        }
        line.append(component.isEnabled() ? "" : " disabled");
        tree.add(line.toString());
        if (component instanceof Container) {
            for (Component child : ((Container) component).getComponents()) {
                describe(child, depth + 1, tree, text);
            }
        }
    }

    /** The nearest named class of the component. */
    private static String className(Component component) {
        Class<?> type = component.getClass();
        while (type.getSimpleName().isEmpty()) {
            type = type.getSuperclass();
        }
        return type.getSimpleName();
    }

    /** Calls methods of the JDK only: an override of the project could do anything. */
    private static Object property(Component component, String name) {
        try {
            Method method = component.getClass().getMethod(name);
            boolean isJdkMethod = method.getDeclaringClass().getName().matches("(java\\.awt|javax\\.swing)\\..*");
            Object value = isJdkMethod ? method.invoke(component) : null;
            return value instanceof String || value instanceof Number || value instanceof Boolean ? value : null;
        } catch (ReflectiveOperationException | RuntimeException absent) {
            return null;
        }
    }
}
