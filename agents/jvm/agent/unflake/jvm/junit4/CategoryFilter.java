package unflake.jvm.junit4;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.experimental.categories.Category;
import org.junit.runner.Description;
import unflake.jvm.run.TestModule;

/** Surefire's {@code groups} and {@code excludedGroups}, as lists of JUnit 4 categories. */
final class CategoryFilter {
    private final List<String> included;
    private final List<String> excluded;

    CategoryFilter(TestModule module) {
        included = module.list("groups");
        excluded = module.list("excludegroups");
        List<String> all = new ArrayList<>(included);
        all.addAll(excluded);
        for (String name : all) {
            if (!name.matches("[\\w.$]+")) {
                throw new IllegalArgumentException("of groups of JUnit 4, unflake knows lists of categories only, and not `" + name + "`");
            }
        }
    }

    boolean accepts(Description test, Class<?> testClass) {
        if (included.isEmpty() && excluded.isEmpty()) {
            return true;
        }
        Set<String> names = new HashSet<>();
        add(test.getAnnotation(Category.class), names);
        for (Class<?> type = testClass; type != null; type = type.getSuperclass()) {
            add(type.getAnnotation(Category.class), names);
        }
        return (included.isEmpty() || included.stream().anyMatch(names::contains)) && excluded.stream().noneMatch(names::contains);
    }

    private static void add(Category annotation, Set<String> names) {
        if (annotation != null) {
            for (Class<?> category : annotation.value()) {
                addWithSupertypes(category, names);
            }
        }
    }

    private static void addWithSupertypes(Class<?> category, Set<String> names) {
        if (category != null && category != Object.class) {
            names.add(category.getName());
            names.add(category.getSimpleName());
            addWithSupertypes(category.getSuperclass(), names);
            for (Class<?> type : category.getInterfaces()) {
                addWithSupertypes(type, names);
            }
        }
    }
}
