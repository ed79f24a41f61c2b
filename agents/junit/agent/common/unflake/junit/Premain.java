package unflake.junit;

import java.lang.instrument.Instrumentation;

/**
 * What the JVM calls before {@link Main}, where it was started with {@code -javaagent}. It is told what is wanted: {@code name=path}
 * for each thing, parted by colons, where the path leads to a file that says more.
 */
public final class Premain {
    private Premain() {
    }

    public static void premain(String wanted, Instrumentation jvm) throws Exception {
        for (String one : wanted.split(":")) {
            int end = one.indexOf('=');
            begin(one.substring(0, end), one.substring(end + 1), jvm);
        }
    }

    private static void begin(String name, String path, Instrumentation jvm) throws Exception {
        switch (name) {
            case "lines":
                unflake.lines.Lines.begin(path, false, jvm);
                break;
            case "values":
                unflake.lines.Lines.begin(path, true, jvm);
                break;
            case "state":
                State.prepare(path, jvm);
                break;
            case "layers":
                unflake.layers.Layers.begin(path, jvm);
                break;
            default:
                throw new IllegalArgumentException("nobody here does " + name);
        }
    }
}
