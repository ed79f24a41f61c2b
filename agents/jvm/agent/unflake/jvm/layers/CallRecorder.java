package unflake.jvm.layers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import unflake.jvm.protocol.AgentError;

/**
 * Called at the entries and exits of project methods with their values, from which invariants are
 * inferred. Of a frequent method the first calls are sampled, then every second, every fourth and so
 * on: the same calls in every run that makes as many. A method that throws has no exit.
 */
public final class CallRecorder {
    /** Rows of one point: all of the first calls, then so many at each stride. */
    private static final int FIRST_ROWS = 50;
    private static final int ROWS_PER_STRIDE = 10;
    private static final int MAX_POINT_ROWS = 100;
    /** In one test. */
    private static final int MAX_FUNCTIONS = 2000;
    private static final int MAX_ROWS = 20_000;
    /** Sets of variables at one point: its objects may be of several classes. */
    private static final int MAX_SHAPES = 20;
    private static final String SAMPLED = "values of frequently called functions were sampled";

    /** The entry or exit of a method, in the current test. */
    private static final class Point {
        final String file;
        final String function;
        final boolean isEntry;
        final List<String> names;
        /** Numbers of sets of variables in the file of the test. */
        final Map<List<Class<?>>, Integer> shapes = new HashMap<>();
        int calls;
        int next;
        int stride;
        int rows;

        Point(String file, String function, boolean isEntry, List<String> names) {
            this.file = file;
            this.function = function;
            this.isEntry = isEntry;
            this.names = names;
        }

        void clear() {
            calls = 0;
            next = 1;
            stride = 1;
            rows = 0;
            shapes.clear();
        }

        /** The next call to sample was reached. */
        void sample() {
            rows++;
            if (rows >= FIRST_ROWS && (rows - FIRST_ROWS) % ROWS_PER_STRIDE == 0) {
                stride *= 2;
            }
            next = rows >= MAX_POINT_ROWS ? Integer.MAX_VALUE : next + stride;
        }
    }

    private static volatile Point[] points = new Point[1 << 10];
    private static int count;
    /** Of the current test; also the lock for what a sampled call records. */
    private static final List<Point> USED = new ArrayList<>();
    private static final ObjectFields FIELDS = new ObjectFields();
    /** Null outside of tests. */
    private static volatile LayerFile file;
    private static int rows;
    private static int shapeCount;
    private static volatile boolean hasOverflowed;

    private CallRecorder() {
    }

    /** {@code names}: of the parameters and, at an exit with a result, {@code return}. */
    static int addPoint(String file, String function, boolean isEntry, List<String> names) {
        synchronized (USED) {
            if (count == points.length) {
                points = Arrays.copyOf(points, 2 * count);
            }
            Point point = new Point(file, function, isEntry, names);
            point.clear();
            points[count] = point;
            return count++;
        }
    }

    static void testStarted(LayerFile current) {
        synchronized (USED) {
            USED.forEach(Point::clear);
            USED.clear();
            rows = 0;
            shapeCount = 0;
            hasOverflowed = false;
            file = current;
        }
    }

    static void testFinished() {
        LayerFile finished = file;
        file = null;
        synchronized (USED) {
            if (hasOverflowed) {
                finished.gap("behaviour", "values of calls at the end of the stack were not recorded");
            }
            for (Point point : USED) {
                if (point.calls > point.rows) {
                    finished.gap("behaviour", SAMPLED);
                }
            }
        }
    }

    /** An entry, or an exit without a result. */
    public static void pass(int point, Object[] values) {
        Point reached = points[point];
        if (file != null && ++reached.calls >= reached.next) {
            record(reached, values, false, null);
        }
    }

    public static void result(Object result, int point, Object[] values) {
        Point reached = points[point];
        if (file != null && ++reached.calls >= reached.next) {
            record(reached, values, true, result);
        }
    }

    private static void record(Point point, Object[] values, boolean hasResult, Object result) {
        try {
            LayerFile out = file;
            if (out != null) {
                record(point, all(values, hasResult, result), out);
            }
        } catch (StackOverflowError deep) {
            // The method itself may still fit.
            hasOverflowed = true;
        } catch (Throwable error) {
            throw AgentError.end(error);
        }
    }

    private static Object[] all(Object[] values, boolean hasResult, Object result) {
        int known = values == null ? 0 : values.length;
        Object[] all = values == null ? new Object[hasResult ? 1 : 0] : Arrays.copyOf(values, known + (hasResult ? 1 : 0));
        if (hasResult) {
            all[known] = result;
        }
        return all;
    }

    private static void record(Point point, Object[] values, LayerFile out) {
        synchronized (USED) {
            if (point.calls < point.next || file != out) {
                return;
            }
            if (point.rows == 0) {
                if (USED.size() >= 2 * MAX_FUNCTIONS) {
                    out.gap("behaviour", "values were recorded in the first " + MAX_FUNCTIONS + " functions only");
                    return;
                }
                USED.add(point);
            }
            if (rows >= MAX_ROWS) {
                out.gap("behaviour", "values were recorded at the first " + MAX_ROWS + " program points only");
                return;
            }
            rows++;
            point.sample();
            write(point, values, out);
        }
    }

    private static void write(Point point, Object[] values, LayerFile out) {
        List<Object> row = new ArrayList<>();
        List<Class<?>> shape = new ArrayList<>();
        for (Object value : values) {
            shape.add(FIELDS.append(value, row));
        }
        Integer number = point.shapes.get(shape);
        if (number == null) {
            if (point.shapes.size() >= MAX_SHAPES) {
                out.gap("behaviour", "some calls of functions whose objects are of many classes are missing");
                return;
            }
            number = ++shapeCount;
            out.point(number, point.file, point.function, point.isEntry ? "enter" : "exit", FIELDS.names(point.names, shape));
            point.shapes.put(shape, number);
        }
        out.row(number, row);
    }
}
