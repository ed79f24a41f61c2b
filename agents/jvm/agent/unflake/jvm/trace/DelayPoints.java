package unflake.jvm.trace;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Delays at given lines: a thread sleeps when it is about to execute one for the nth time.
 * {@code FILE:LINE#TIME@THREAD=MILLISECONDS}; everything after the line may be missing.
 * {@code agents/native/delay_points.rs} does the same.
 */
final class DelayPoints {
    private static final int MILLISECONDS = 50;
    private static final int LONGEST = 10_000;
    /** Milliseconds that all delays together take in one process. */
    private static final long LIMIT = 20_000;

    private final List<Point> points = new ArrayList<>();
    private final ConcurrentHashMap<Integer, int[]> pointsOfPlaces = new ConcurrentHashMap<>();
    private final AtomicLong spent = new AtomicLong();

    private static final class Point {
        final String file;
        final int line;
        /** 0: every time. */
        final int time;
        /** Null: every thread. */
        final String thread;
        final int milliseconds;

        Point(String text) {
            int length = text.lastIndexOf('=');
            milliseconds = length < 0 ? MILLISECONDS : Math.min(LONGEST, Integer.parseInt(text.substring(length + 1)));
            String rest = length < 0 ? text : text.substring(0, length);
            int at = rest.indexOf('@');
            thread = at < 0 ? null : rest.substring(at + 1);
            rest = at < 0 ? rest : rest.substring(0, at);
            int number = rest.indexOf('#');
            time = number < 0 ? 0 : Integer.parseInt(rest.substring(number + 1));
            rest = number < 0 ? rest : rest.substring(0, number);
            int colon = rest.lastIndexOf(':');
            file = rest.substring(0, colon);
            line = Integer.parseInt(rest.substring(colon + 1));
        }
    }

    /** The points in the settings of the world; null if there are none. */
    static DelayPoints of(String under) {
        int end = under == null ? -1 : under.indexOf(";page=");
        for (String word : under == null ? new String[0] : (end < 0 ? under : under.substring(0, end)).split(";")) {
            if (word.startsWith("delay-at=")) {
                DelayPoints points = new DelayPoints();
                for (String point : word.substring("delay-at=".length()).split(",")) {
                    points.points.add(new Point(point));
                }
                return points;
            }
        }
        return null;
    }

    /** A place that has been numbered. A file matches by its end. */
    void addPlace(int place, String file, int line) {
        int[] found = new int[points.size()];
        int count = 0;
        for (int index = 0; index < found.length; index++) {
            Point point = points.get(index);
            if (point.line == line && ("/" + file).endsWith("/" + point.file)) {
                found[count++] = index;
            }
        }
        if (count > 0) {
            pointsOfPlaces.put(place, java.util.Arrays.copyOf(found, count));
        }
    }

    /** A thread executes a line. {@code passed}: how often it has passed each point. */
    void step(int place, String thread, int[] passed) {
        int[] here = pointsOfPlaces.get(place);
        for (int index = 0; here != null && index < here.length; index++) {
            Point point = points.get(here[index]);
            if (point.thread != null && !point.thread.equals(thread)) {
                continue;
            }
            int time = ++passed[here[index]];
            if ((point.time == 0 || point.time == time) && spent.getAndAdd(point.milliseconds) < LIMIT) {
                Schedule.sleep(point.milliseconds);
            }
        }
    }

    int count() {
        return points.size();
    }
}
