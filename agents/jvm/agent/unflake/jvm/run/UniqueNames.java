package unflake.jvm.run;

import java.util.Map;

/** Names of tests within a class; those with the same name are numbered from the second on. */
public final class UniqueNames {
    private UniqueNames() {
    }

    public static String unique(String displayName, Map<String, ?> tests) {
        String name = displayName.replace("\n", "\\n").replace("\r", "\\r");
        String unique = name;
        for (int number = 2; tests.containsKey(unique); number++) {
            unique = name + " #" + number;
        }
        return unique;
    }
}
