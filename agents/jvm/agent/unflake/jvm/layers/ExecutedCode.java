package unflake.jvm.layers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The lines and branches of instrumented classes, and which of them the current test executed. */
final class ExecutedCode {
    static final String TOO_MUCH = "the project has more lines and branches than are recorded";

    /** Consecutive numbers of {@link CodeProbe}. */
    private static final class Place {
        final String file;
        final int line;
        final int number;
        /** What each number means; null for a line. */
        final String[] ways;

        Place(String file, int line, int number, String[] ways) {
            this.file = file;
            this.line = line;
            this.number = number;
            this.ways = ways;
        }
    }

    private final List<Place> places = new ArrayList<>();
    private final TreeSet<String> gaps = new TreeSet<>();

    /** Returns the number for {@link CodeProbe#line}; -1 if there are no more. */
    synchronized int addLine(String file, int line) {
        return add(file, line, 1, null);
    }

    /** Returns the first number of the branches that start in this line; -1 if there are no more. */
    synchronized int addBranches(String file, int line, String[] ways) {
        return add(file, line, ways.length, ways);
    }

    private int add(String file, int line, int count, String[] ways) {
        int number = CodeProbe.reserve(count);
        if (number < 0) {
            gaps.add(TOO_MUCH);
        } else {
            places.add(new Place(file, line, number, ways));
        }
        return number;
    }

    /** Applies to every test from now on. */
    synchronized void gap(String reason) {
        gaps.add(reason);
    }

    synchronized Set<String> gaps() {
        return new TreeSet<>(gaps);
    }

    synchronized void testStarted() {
        CodeProbe.clear();
    }

    /** Writes what ran, and for each of these layers what could not be seen. */
    synchronized void write(LayerFile out, List<String> layers) {
        Map<String, BitSet> lines = new LinkedHashMap<>();
        Map<String, List<Object>> branches = new LinkedHashMap<>();
        for (Place place : places) {
            if (place.ways == null && CodeProbe.isSeen(place.number)) {
                lines.computeIfAbsent(place.file, file -> new BitSet()).set(place.line);
            }
            for (int way = 0; place.ways != null && way < place.ways.length; way++) {
                if (CodeProbe.isSeen(place.number + way)) {
                    branches.computeIfAbsent(place.file, file -> new ArrayList<>()).add(Arrays.asList(place.line, place.ways[way]));
                }
            }
        }
        lines.forEach((file, numbers) -> out.lines(file, ranges(numbers)));
        branches.forEach(out::branches);
        for (String layer : layers) {
            gaps.forEach(reason -> out.gap(layer, reason));
        }
    }

    private static List<Object> ranges(BitSet lines) {
        List<Object> ranges = new ArrayList<>();
        for (int first = lines.nextSetBit(0); first >= 0;) {
            int end = lines.nextClearBit(first);
            ranges.add(Arrays.asList(first, end - 1));
            first = lines.nextSetBit(end);
        }
        return ranges;
    }
}
