package unflake.layers;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import unflake.lines.Around;
import unflake.lines.Head;

/** Has the assertions of JUnit, Hamcrest and AssertJ say what they see and, where some may fail, ask whether they count. */
final class Watched implements ClassFileTransformer {
    private static final String TOLD = "unflake/layers/Seen";
    /** They fail because of code of the project that they run: what that did not come to would be missing. */
    private static final String RUN_CODE = "fail|assertAll|assertThrows.*|assertDoesNotThrow|assertTimeout.*|.*[sS]atisf.*";

    private final boolean isFilter;

    Watched(boolean isFilter) {
        this.isFilter = isFilter;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
        Around.Chosen chosen = name == null ? null : chosen(name);
        if (chosen == null) {
            return null;
        }
        try {
            return Around.rewritten(bytes, isFilter ? marked(name, chosen) : chosen, said -> isFilter && !said.startsWith(Seen.NEVER), TOLD);
        } catch (Throwable problem) {
            // It runs as it is: what it sees is not told.
            return null;
        }
    }

    /** Who runs code of the project, or has something else to give back than its object, is never let fail. */
    private static Around.Chosen marked(String type, Around.Chosen chosen) {
        return method -> {
            String said = chosen.name(method);
            String descriptor = method.descriptor();
            boolean mayEnd = descriptor.endsWith(")V") || !method.isStatic() && descriptor.endsWith(")L" + type + ";");
            return said == null || mayEnd && !method.name().matches(RUN_CODE) ? said : Seen.NEVER + said;
        };
    }

    private static Around.Chosen chosen(String name) {
        switch (name) {
            case "org/junit/jupiter/api/Assertions":
                return method -> isAssertion(method) ? said(method, jupiter(method.name(), method.descriptor())) : null;
            case "org/junit/Assert":
            case "junit/framework/Assert":
            case "junit/framework/TestCase":
                return method -> isAssertion(method) ? said(method, classic(method.name(), method.descriptor())) : null;
            case "org/hamcrest/MatcherAssert":
                return method -> isAssertion(method) ? said(method, matcher(method.descriptor())) : null;
            default:
                return name.startsWith("org/assertj/core/api/Abstract") && name.endsWith("Assert") ? Watched::fluent : null;
        }
    }

    private static String said(Head method, String names) {
        return method.name() + method.descriptor() + ":" + names;
    }

    private static boolean isAssertion(Head method) {
        return method.isStatic() && method.isPublic() && (method.name().startsWith("assert") || method.name().equals("fail"));
    }

    /** What is given to Jupiter: what is expected, what came, and a message that is not told. */
    private static String jupiter(String method, String descriptor) {
        int given = Names.count(descriptor);
        String names = method.startsWith("assertTrue") || method.startsWith("assertFalse") ? "condition"
            : method.endsWith("Null") ? "actual"
            : method.startsWith("assertThrows") || method.startsWith("assertDoesNotThrow") || method.startsWith("assertTimeout") || method.startsWith("assertAll") ? ""
            : method.equals("fail") ? "message" : "expected,actual";
        boolean hasDelta = method.contains("Equals") && given >= 3 && Names.isNumber(descriptor, 2);
        return Names.padded(names + (hasDelta ? ",delta" : ""), given);
    }

    /** The same with JUnit 3 and 4, where a message comes first. */
    private static String classic(String method, String descriptor) {
        int given = Names.count(descriptor);
        String names = method.equals("assertTrue") || method.equals("assertFalse") ? "condition"
            : method.endsWith("Null") ? "actual"
            : method.equals("assertThrows") ? ""
            : method.equals("assertThat") ? "actual"
            : method.equals("fail") ? "" : "expected,actual";
        int told = names.isEmpty() ? 0 : names.split(",").length;
        boolean hasMessage = given > told && descriptor.startsWith("(Ljava/lang/String;") && !(given == 2 && told == 2);
        boolean hasDelta = method.contains("Equals") && given - (hasMessage ? 1 : 0) == 3;
        return Names.padded((hasMessage ? "," : "") + names + (hasDelta ? ",delta" : ""), given);
    }

    private static String matcher(String descriptor) {
        boolean hasReason = descriptor.startsWith("(Ljava/lang/String;");
        return Names.padded(hasReason ? ",actual" : "actual", Names.count(descriptor));
    }

    /** What AssertJ is asked of something: {@code isEqualTo}, {@code hasSize}, {@code containsOnly} and the like. */
    private static String fluent(Head method) {
        String descriptor = method.descriptor();
        boolean asks = method.name().matches("(is|has|does|contains|starts|ends|matches|satisfies|all|any|none|are|be|can)([A-Z].*)?");
        boolean answers = descriptor.endsWith("Assert;") || descriptor.endsWith("SELF;") || descriptor.contains(")Lorg/assertj") || descriptor.endsWith(")V");
        if (method.isStatic() || !method.isPublic() || !asks || !answers) {
            return null;
        }
        StringBuilder names = new StringBuilder("actual");
        for (int at = 0; at < Names.count(descriptor); at++) {
            names.append(",argument ").append(at + 1);
        }
        return said(method, names.toString());
    }
}
