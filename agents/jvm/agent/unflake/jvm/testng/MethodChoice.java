package unflake.jvm.testng;

import java.util.List;
import org.testng.IMethodSelector;
import org.testng.IMethodSelectorContext;
import org.testng.ITestNGMethod;

/**
 * Excludes methods from a run of TestNG. TestNG creates it by name, so what is excluded is static:
 * runs of TestNG do not overlap. Methods that it does not exclude are left to the selectors after
 * it, which are those of TestNG and Surefire.
 */
public final class MethodChoice implements IMethodSelector {
    /** Before all others: the last selector decides, unless one stops. */
    static final int PRIORITY = 1;

    interface Rule {
        boolean excludes(ITestNGMethod method, boolean isTest);
    }

    private static final long serialVersionUID = 1;

    static volatile Rule rule;

    @Override
    public boolean includeMethod(IMethodSelectorContext context, ITestNGMethod method, boolean isTest) {
        if (rule.excludes(method, isTest)) {
            context.setStopped(true);
            return false;
        }
        return true;
    }

    @Override
    public void setTestMethods(List<ITestNGMethod> methods) {
    }
}
