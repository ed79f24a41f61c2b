package unflake.jvm.layers;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import unflake.jvm.protocol.AgentError;

/** Called by the instrumented assertions of libraries when they start, return and throw. */
public final class AssertionRecorder {
    /** An assertion that has started and not finished. */
    private static final class Evaluation {
        final String label;
        /** Depth of the stack, and the frame of the assertion. */
        final int depth;
        final StackTraceElement method;
        /** Depth of the calling project code; 0 if there is none. */
        final int callerDepth;
        final LayerFile file;
        final AssertionSite site;
        final List<Object> values;

        Evaluation(String label, StackTraceElement[] trace, int callerDepth, LayerFile file, AssertionSite site, List<Object> values) {
            this.label = label;
            depth = trace.length;
            method = trace[1];
            this.callerDepth = callerDepth;
            this.file = file;
            this.site = site;
            this.values = values;
        }

        /** Whether an exception has left the assertion: it is no longer on the stack. */
        boolean isFinished(StackTraceElement[] trace) {
            StackTraceElement there = depth < trace.length ? trace[trace.length - depth + 1] : null;
            return there == null || !there.getMethodName().equals(method.getMethodName()) || !there.getClassName().equals(method.getClassName());
        }
    }

    /** Prefix for assertions that may never fail. */
    static final String NEVER_FILTERED = "-";

    private static final ThreadLocal<List<Evaluation>> STACK = ThreadLocal.withInitial(ArrayList::new);

    private AssertionRecorder() {
    }

    /** {@code label}: a name, a colon, and the names of the arguments, separated by commas. */
    public static void entered(Object[] arguments, String label) {
        try {
            LayerFile file = LayerRecorder.currentFile();
            if (file != null) {
                StackTraceElement[] trace = new Throwable().getStackTrace();
                List<Evaluation> stack = STACK.get();
                while (!stack.isEmpty() && last(stack).isFinished(trace)) {
                    record(stack, "failed");
                }
                SourceIndex sources = LayerRecorder.sources();
                int caller = sources.caller(trace);
                AssertionSite site = caller < 0 ? null : sources.site(trace[caller], calledMethod(trace, caller));
                String[] names = label.substring(label.indexOf(':') + 1).split(",", -1);
                stack.add(new Evaluation(label, trace, caller < 0 ? 0 : trace.length - caller, file, site, values(arguments, names)));
            }
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }

    /** What the project called, unless a library called this assertion itself. */
    private static String calledMethod(StackTraceElement[] trace, int caller) {
        String outermost = trace[caller - 1].getMethodName();
        return outermost.equals(trace[1].getMethodName()) ? outermost : "";
    }

    public static void returned(String label) {
        AgentError.guard(() -> recordReturn(label));
    }

    private static void recordReturn(String label) {
        List<Evaluation> stack = STACK.get();
        boolean isKnown = false;
        for (Evaluation evaluation : stack) {
            isKnown |= evaluation.label.equals(label);
        }
        // Inner assertions that failed did not keep this one from passing.
        while (isKnown && !last(stack).label.equals(label)) {
            record(stack, "failed");
        }
        if (isKnown) {
            record(stack, "held");
        }
    }

    /** Returns normally only if the exception is to be ignored. */
    public static void threw(Throwable thrown, String label) throws Throwable {
        if (isRelevant(thrown, label, new Throwable().getStackTrace())) {
            throw thrown;
        }
    }

    private static boolean isRelevant(Throwable thrown, String label, StackTraceElement[] trace) {
        try {
            List<Evaluation> stack = STACK.get();
            finishDeeper(stack, trace.length);
            if (stack.isEmpty() || last(stack).depth != trace.length || !last(stack).label.equals(label)) {
                return true;
            }
            AssertionFilter filter = LayerRecorder.filter();
            boolean isOwn = filter.isOwn(thrown, trace);
            boolean mayFail = isOwn && !isInner(stack) && mayFail(last(stack), filter, thrown, trace);
            record(stack, mayFail ? "filtered" : isOwn ? "failed" : "raised");
            return !mayFail;
        } catch (StackOverflowError error) {
            return true;
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }

    private static boolean mayFail(Evaluation evaluation, AssertionFilter filter, Throwable thrown, StackTraceElement[] trace) {
        if (!filter.contains(evaluation.site)) {
            return false;
        }
        // Behind this class and the assertion itself.
        String rejection = filter.rejection(thrown, trace, 2);
        if (rejection != null) {
            evaluation.file.gap("assertion", evaluation.site + " is not filtered: " + rejection);
        }
        return rejection == null;
    }

    /** The test is over: assertions that have not returned have failed. */
    static void testFinished() {
        finishDeeper(STACK.get(), 0);
    }

    /** Ends the assertions that were deeper in the stack than this. */
    private static void finishDeeper(List<Evaluation> stack, int depth) {
        while (!stack.isEmpty() && last(stack).depth > depth) {
            record(stack, "failed");
        }
    }

    private static Evaluation last(List<Evaluation> stack) {
        return stack.get(stack.size() - 1);
    }

    /**
     * Whether a library called the last assertion on behalf of another, or no project code called
     * it.
     */
    private static boolean isInner(List<Evaluation> stack) {
        Evaluation last = last(stack);
        boolean isInner = last.callerDepth == 0;
        for (Evaluation outer : stack) {
            isInner |= outer != last && outer.callerDepth == last.callerDepth;
        }
        return isInner;
    }

    private static void record(List<Evaluation> stack, String outcome) {
        boolean isInner = isInner(stack);
        Evaluation last = stack.remove(stack.size() - 1);
        if (isInner) {
            return;
        }
        if (last.site.number < 0 && LayerRecorder.filter() != null) {
            last.file.gap("assertion", last.site + " is not recorded: it matches no known assertion, or several");
        } else {
            // An assertion that may never fail must not be learned as one that varies.
            boolean isExempt = last.label.startsWith(NEVER_FILTERED) && outcome.equals("failed");
            last.file.asserted(last.site, isExempt ? "raised" : outcome, last.values);
        }
    }

    private static List<Object> values(Object[] arguments, String[] names) {
        List<Object> values = new ArrayList<>();
        for (int index = 0; index < arguments.length; index++) {
            if (!names[index].isEmpty()) {
                values.add(names[index]);
                values.add(RecordedValue.of(unwrapped(arguments[index])));
            }
        }
        return values;
    }

    /** AssertJ passes its own assertion object, which has the actual value. */
    private static Object unwrapped(Object argument) {
        Class<?> type = argument == null ? null : argument.getClass();
        while (type != null && !type.getName().equals("org.assertj.core.api.AbstractAssert")) {
            type = type.getSuperclass();
        }
        if (type == null) {
            return argument;
        }
        try {
            Field actual = type.getDeclaredField("actual");
            actual.setAccessible(true);
            return actual.get(argument);
        } catch (ReflectiveOperationException | RuntimeException hidden) {
            return argument;
        }
    }
}
