package unflake.jvm.junit4;

import java.lang.annotation.Annotation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.runner.Description;
import unflake.jvm.run.TestModule;
import unflake.jvm.run.UnsupportedProjectException;

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
                throw new UnsupportedProjectException("groups of JUnit 4 are lists of categories for unflake; it does not evaluate `" + name + "`");
            }
        }
    }

    boolean accepts(Description test, Class<?> testClass) {
        if (included.isEmpty() && excluded.isEmpty()) {
            return true;
        }
        Set<String> names = new HashSet<>();
        addCategories(test.getAnnotations(), names);
        for (Class<?> type = testClass; type != null; type = type.getSuperclass()) {
            addCategories(Arrays.asList(type.getAnnotations()), names);
        }
        return (included.isEmpty() || included.stream().anyMatch(names::contains)) && excluded.stream().noneMatch(names::contains);
    }

    /** By name, because JUnit before 4.8 has no categories. */
    private static void addCategories(Collection<Annotation> annotations, Set<String> names) {
        for (Annotation annotation : annotations) {
            if (annotation.annotationType().getName().equals("org.junit.experimental.categories.Category")) {
                for (Class<?> category : categories(annotation)) {
                    addWithSupertypes(category, names);
                }
            }
        }
    }

    private static Class<?>[] categories(Annotation annotation) {
        try {
            return (Class<?>[]) annotation.annotationType().getMethod("value").invoke(annotation);
        } catch (ReflectiveOperationException changed) {
            throw new IllegalStateException("the categories of a test cannot be read: " + changed);
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
