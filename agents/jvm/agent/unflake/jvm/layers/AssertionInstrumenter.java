package unflake.jvm.layers;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import unflake.jvm.bytecode.MethodDescriptor;
import unflake.jvm.bytecode.MethodInfo;
import unflake.jvm.bytecode.MethodInstrumenter;

/**
 * Instruments the assertions of JUnit, Hamcrest and AssertJ to record their arguments and outcome
 * and, with a filter, to ask whether a failure counts.
 */
final class AssertionInstrumenter implements ClassFileTransformer {
    private static final String CALLBACK_CLASS = "unflake/jvm/layers/AssertionRecorder";
    /** Assertions that run project code: ignoring a failure would leave that code unfinished. */
    private static final String RUNS_PROJECT_CODE = "fail|assertAll|assertThrows.*|assertDoesNotThrow|assertTimeout.*|.*[sS]atisf.*";

    private final boolean canFilter;

    AssertionInstrumenter(boolean canFilter) {
        this.canFilter = canFilter;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        MethodInstrumenter.Selector selector = name == null ? null : selector(name);
        if (selector == null) {
            return null;
        }
        try {
            MethodInstrumenter.CatchPolicy policy = label -> canFilter && !label.startsWith(AssertionRecorder.NEVER_FILTERED);
            return MethodInstrumenter.instrument(bytes, canFilter ? exempting(name, selector) : selector, policy, CALLBACK_CLASS);
        } catch (Throwable error) {
            // The assertion stays unchanged and is not recorded.
            return null;
        }
    }

    /** Assertions that run project code or return a computed value may never fail. */
    private static MethodInstrumenter.Selector exempting(String type, MethodInstrumenter.Selector selector) {
        return method -> {
            String label = selector.label(method);
            String descriptor = method.descriptor();
            boolean canReturnEarly = descriptor.endsWith(")V") || !method.isStatic() && descriptor.endsWith(")L" + type + ";");
            return label == null || canReturnEarly && !method.name().matches(RUNS_PROJECT_CODE) ? label : AssertionRecorder.NEVER_FILTERED + label;
        };
    }

    private static MethodInstrumenter.Selector selector(String name) {
        switch (name) {
            case "org/junit/jupiter/api/Assertions":
                return method -> isAssertion(method) ? label(method, jupiter(method.name(), method.descriptor())) : null;
            case "org/junit/Assert":
            case "junit/framework/Assert":
            case "junit/framework/TestCase":
                return method -> isAssertion(method) ? label(method, classic(method.name(), method.descriptor())) : null;
            case "org/hamcrest/MatcherAssert":
                return method -> isAssertion(method) ? label(method, matcher(method.descriptor())) : null;
            default:
                return name.startsWith("org/assertj/core/api/Abstract") && name.endsWith("Assert") ? AssertionInstrumenter::fluent : null;
        }
    }

    private static String label(MethodInfo method, String names) {
        return method.name() + method.descriptor() + ":" + names;
    }

    private static boolean isAssertion(MethodInfo method) {
        return method.isStatic() && method.isPublic() && (method.name().startsWith("assert") || method.name().equals("fail"));
    }

    /** Jupiter: expected, actual, and a message that is not recorded. */
    private static String jupiter(String method, String descriptor) {
        int count = MethodDescriptor.parameterKinds(descriptor).length();
        String names = method.startsWith("assertTrue") || method.startsWith("assertFalse") ? "condition"
            : method.endsWith("Null") ? "actual"
            : method.startsWith("assertThrows") || method.startsWith("assertDoesNotThrow") || method.startsWith("assertTimeout") || method.startsWith("assertAll") ? ""
            : method.equals("fail") ? "message" : "expected,actual";
        boolean hasDelta = method.contains("Equals") && count >= 3 && "FD".indexOf(MethodDescriptor.parameterKinds(descriptor).charAt(2)) >= 0;
        return padded(names + (hasDelta ? ",delta" : ""), count);
    }

    /** JUnit 3 and 4, where the message comes first. */
    private static String classic(String method, String descriptor) {
        int count = MethodDescriptor.parameterKinds(descriptor).length();
        String names = method.equals("assertTrue") || method.equals("assertFalse") ? "condition"
            : method.endsWith("Null") ? "actual"
            : method.equals("assertThrows") ? ""
            : method.equals("assertThat") ? "actual"
            : method.equals("fail") ? "" : "expected,actual";
        int named = names.isEmpty() ? 0 : names.split(",").length;
        boolean hasMessage = count > named && descriptor.startsWith("(Ljava/lang/String;") && !(count == 2 && named == 2);
        boolean hasDelta = method.contains("Equals") && count - (hasMessage ? 1 : 0) == 3;
        return padded((hasMessage ? "," : "") + names + (hasDelta ? ",delta" : ""), count);
    }

    /** Adds empty names for the remaining parameters, which are not recorded. */
    private static String padded(String names, int count) {
        StringBuilder padded = new StringBuilder(names);
        for (int index = names.split(",", -1).length; index < count; index++) {
            padded.append(',');
        }
        return padded.toString();
    }

    private static String matcher(String descriptor) {
        boolean hasReason = descriptor.startsWith("(Ljava/lang/String;");
        return padded(hasReason ? ",actual" : "actual", MethodDescriptor.parameterKinds(descriptor).length());
    }

    /** AssertJ: {@code isEqualTo}, {@code hasSize}, {@code containsOnly} and the like. */
    private static String fluent(MethodInfo method) {
        String descriptor = method.descriptor();
        boolean isCheck = method.name().matches("(is|has|does|contains|starts|ends|matches|satisfies|all|any|none|are|be|can)([A-Z].*)?");
        boolean isFluent = descriptor.endsWith("Assert;") || descriptor.endsWith("SELF;") || descriptor.contains(")Lorg/assertj") || descriptor.endsWith(")V");
        if (method.isStatic() || !method.isPublic() || !isCheck || !isFluent) {
            return null;
        }
        StringBuilder names = new StringBuilder("actual");
        for (int index = 0; index < MethodDescriptor.parameterKinds(descriptor).length(); index++) {
            names.append(",argument ").append(index + 1);
        }
        return label(method, names.toString());
    }
}
