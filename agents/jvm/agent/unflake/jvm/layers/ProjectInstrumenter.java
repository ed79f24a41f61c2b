package unflake.jvm.layers;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import unflake.jvm.bytecode.ClassRewriter;
import unflake.jvm.bytecode.CodeAttribute;
import unflake.jvm.bytecode.LineProbes;
import unflake.jvm.bytecode.LoaderVisibility;
import unflake.jvm.bytecode.MethodInfo;
import unflake.jvm.bytecode.UnsupportedCodeException;
import unflake.jvm.util.SourceFolders;

/**
 * Instruments project classes, those whose source file is below the source directories of the
 * project, for the layers of code, branches and behaviour.
 */
final class ProjectInstrumenter implements ClassFileTransformer {
    private static final String PROBE_CLASS = "unflake/jvm/layers/CodeProbe";

    /** One class. */
    private final class Rewrite implements ClassRewriter.MethodTransform {
        private final String type;
        private final String file;
        private final int lineProbe;
        private final Map<Integer, Integer> branchCounts = new HashMap<>();

        Rewrite(ClassRewriter rewriter, String type, String file) throws IOException {
            this.type = type.substring(type.lastIndexOf('/') + 1).replace('$', '.');
            this.file = file;
            lineProbe = rewriter.pool().addMethod(PROBE_CLASS, "line", "(I)V");
        }

        @Override
        public byte[] transform(MethodInfo method, CodeAttribute code) throws IOException {
            // Generated methods repeat lines of other code, except for the bodies of lambdas.
            TreeMap<Integer, Integer> lines = LineProbes.lines(code);
            if (lines.isEmpty() || method.isSynthetic() && !method.name().startsWith("lambda$")) {
                return null;
            }
            try {
                return instrument(method, code, lines);
            } catch (UnsupportedCodeException reason) {
                executed.gap(type + "." + method.name() + " is not recorded: " + reason.getMessage());
                return null;
            }
        }

        private byte[] instrument(MethodInfo method, CodeAttribute code, TreeMap<Integer, Integer> lines) throws IOException {
            if (hasCalls && hasPoints(method)) {
                new CallInstrumenter(method, code).instrument(file, type + "." + method.name());
            }
            for (Map.Entry<Integer, Integer> line : hasLines ? lines.entrySet() : new TreeMap<Integer, Integer>().entrySet()) {
                int number = executed.addLine(file, line.getValue());
                if (number >= 0) {
                    code.layout.insertBefore(line.getKey(), LineProbes.call(code.pool(), number, lineProbe));
                }
            }
            if (hasBranches) {
                new BranchInstrumenter(code, lines, executed, file, branchCounts).instrument();
            }
            return code.write(CallInstrumenter.EXTRA_STACK);
        }

        /** Tests themselves have none, nor what has no name of its own. */
        private boolean hasPoints(MethodInfo method) throws IOException {
            return !method.isSynthetic() && !method.name().equals("<clinit>") && !isTest(method);
        }

        private boolean isTest(MethodInfo method) throws IOException {
            boolean isMarked = false;
            for (String annotation : method.annotations()) {
                isMarked |= annotation.startsWith("Lorg/junit/") || annotation.startsWith("Lorg/testng/");
            }
            return isMarked || method.name().startsWith("test") && method.descriptor().equals("()V");
        }
    }

    private final ExecutedCode executed = new ExecutedCode();
    private final SourceFolders sources;
    private final File root;
    private final boolean hasLines;
    private final boolean hasBranches;
    private final boolean hasCalls;
    private final LoaderVisibility visibility = new LoaderVisibility(CodeProbe.class);
    private final Map<String, Boolean> instrumented = new ConcurrentHashMap<>();

    ProjectInstrumenter(Set<String> layers, File root, List<String> folders) {
        sources = new SourceFolders(folders);
        this.root = root;
        hasLines = layers.contains("code");
        hasBranches = layers.contains("branch");
        hasCalls = layers.contains("behaviour");
    }

    /** Whether the class has been instrumented. */
    boolean isOwn(Class<?> type) {
        return instrumented.containsKey(type.getName());
    }

    void testStarted(LayerFile file) {
        executed.testStarted();
        if (hasCalls) {
            CallRecorder.testStarted(file);
        }
    }

    void testFinished(LayerFile file) {
        if (hasCalls) {
            CallRecorder.testFinished();
        }
        List<String> layers = new ArrayList<>();
        for (String layer : new String[] {hasLines ? "code" : null, hasBranches ? "branch" : null, hasCalls ? "behaviour" : null}) {
            if (layer != null) {
                layers.add(layer);
            }
        }
        executed.write(file, layers);
    }

    /** {@code file}: the path of its source. */
    byte[] rewrite(ClassRewriter rewriter, String file) throws IOException {
        return rewriter.rewrite(new Rewrite(rewriter, rewriter.className(), file));
    }

    /** Why something is not recorded. */
    Set<String> gaps() {
        return executed.gaps();
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (name == null || loader == null || name.startsWith("unflake/jvm/") || !sources.mayHave(name)) {
            return null;
        }
        try {
            ClassRewriter rewriter = new ClassRewriter(bytes);
            File source = sources.find(name, rewriter.sourceFile());
            if (source == null) {
                return null;
            }
            if (!visibility.canSee(loader)) {
                throw new UnsupportedCodeException("its class loader hides unflake's classes");
            }
            byte[] changed = rewrite(rewriter, SourceIndex.relative(root, source));
            instrumented.put(name.replace('/', '.'), true);
            return changed;
        } catch (Throwable error) {
            // The class runs unchanged, and each test says so.
            executed.gap(name.replace('/', '.') + " is not recorded: " + error);
            return null;
        }
    }
}
