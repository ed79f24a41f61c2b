package unflake.junit;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.experimental.categories.Category;
import org.junit.runner.Description;

/** Surefire's groups, as far as they are lists of categories. */
final class Groups {
    private final List<String> included;
    private final List<String> excluded;

    Groups(Module module) {
        included = module.words("groups");
        excluded = module.words("excludegroups");
        List<String> all = new ArrayList<>(included);
        all.addAll(excluded);
        for (String word : all) {
            if (!word.matches("[\\w.$]+")) {
                throw new IllegalArgumentException("of groups of JUnit 4, unflake knows lists of categories only, and not `" + word + "`");
            }
        }
    }

    boolean have(Description test, Class<?> type) {
        if (included.isEmpty() && excluded.isEmpty()) {
            return true;
        }
        Set<String> names = new HashSet<>();
        add(test.getAnnotation(Category.class), names);
        for (Class<?> one = type; one != null; one = one.getSuperclass()) {
            add(one.getAnnotation(Category.class), names);
        }
        return (included.isEmpty() || included.stream().anyMatch(names::contains)) && excluded.stream().noneMatch(names::contains);
    }

    private static void add(Category category, Set<String> names) {
        if (category != null) {
            for (Class<?> one : category.value()) {
                addWithTypes(one, names);
            }
        }
    }

    private static void addWithTypes(Class<?> one, Set<String> names) {
        if (one != null && one != Object.class) {
            names.add(one.getName());
            names.add(one.getSimpleName());
            addWithTypes(one.getSuperclass(), names);
            for (Class<?> type : one.getInterfaces()) {
                addWithTypes(type, names);
            }
        }
    }
}
