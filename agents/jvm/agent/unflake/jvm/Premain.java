package unflake.jvm;

import java.lang.instrument.Instrumentation;
import unflake.jvm.layers.LayerRecorder;
import unflake.jvm.protocol.AgentError;
import unflake.jvm.seeds.RandomSeeds;
import unflake.jvm.seeds.UnspecifiedOrder;
import unflake.jvm.state.StateProbe;
import unflake.jvm.trace.LineTracer;

/**
 * Entry point of {@code -javaagent}, called before {@link Main}. The argument lists the features to
 * install as {@code name=path} pairs separated by colons; each path is the configuration file of
 * its feature.
 */
public final class Premain {
    private Premain() {
    }

    public static void premain(String features, Instrumentation jvm) {
        AgentError.guard(() -> {
            for (String feature : features.split(":")) {
                int end = feature.indexOf('=');
                install(feature.substring(0, end), feature.substring(end + 1), jvm);
            }
        });
    }

    private static void install(String name, String path, Instrumentation jvm) throws Exception {
        switch (name) {
            case "lines":
                LineTracer.install(path, false, jvm);
                break;
            case "values":
                LineTracer.install(path, true, jvm);
                break;
            case "state":
                StateProbe.install(path, jvm);
                break;
            case "seeds":
                RandomSeeds.install(jvm);
                UnspecifiedOrder.install(jvm);
                break;
            case "layers":
                LayerRecorder.install(path, jvm);
                break;
            default:
                throw new IllegalArgumentException("unknown agent option: " + name);
        }
    }
}
