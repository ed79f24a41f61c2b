package unflake.lines;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/** What a line of a method does with an exception that comes out of it. */
public final class Handlers {
    /** Something that catches. */
    public static final class Handler {
        /** With dots; null: everything. */
        public final String type;
        /** Whether the method may come to its end after that, and not only by another exception. */
        public final boolean mayGoOn;

        Handler(String type, boolean mayGoOn) {
            this.type = type;
            this.mayGoOn = mayGoOn;
        }
    }

    private final Code code;
    /** From, until, and what then. */
    private final List<int[]> ranges = new ArrayList<>();

    private Handlers(Code code) {
        this.code = code;
        code.handlers(row -> ranges.add(new int[] {code.u2(row), code.u2(row + 2), code.u2(row + 4), code.u2(row + 6)}));
    }

    /** Of all methods of that name in a class; where its line is not known (0 and less), of all lines. */
    public static List<Handler> at(byte[] type, String method, int line) throws IOException {
        List<Handler> found = new ArrayList<>();
        new Rewriter(type).rewritten((head, code) -> {
            if (head.name().equals(method)) {
                new Handlers(code).find(line, found);
            }
            return null;
        });
        return found;
    }

    private void find(int line, List<Handler> found) {
        TreeMap<Integer, Integer> lines = new TreeMap<>();
        code.rows("LineNumberTable", 4, row -> lines.put(code.u2(row), code.u2(row + 2)));
        for (int[] range : ranges) {
            boolean covers = line <= 0 || lines.isEmpty();
            for (int from : lines.keySet()) {
                Integer next = lines.higherKey(from);
                int until = next == null ? code.layout.length : next;
                covers |= lines.get(from) == line && from < range[1] && range[0] < until;
            }
            if (covers) {
                found.add(new Handler(range[3] == 0 ? null : code.pool.type(range[3]).replace('/', '.'), mayGoOn(range[2])));
            }
        }
    }

    /** Whether a way leads from here to where the method gives something back. */
    private boolean mayGoOn(int start) {
        Set<Integer> seen = new HashSet<>();
        Deque<Integer> ahead = new ArrayDeque<>();
        ahead.add(start);
        while (!ahead.isEmpty()) {
            int pc = ahead.remove();
            if (!seen.add(pc)) {
                continue;
            }
            int operation = code.layout.operation(pc);
            // Where a subroutine of old compilers goes back to is not looked up.
            if (operation >= 0xa8 && operation <= 0xb1 && operation != Instruction.TABLE_SWITCH && operation != Instruction.LOOKUP_SWITCH) {
                return true;
            }
            for (int way : code.layout.ways(pc)) {
                ahead.add(way);
            }
            for (int[] range : ranges) {
                if (range[0] <= pc && pc < range[1]) {
                    ahead.add(range[2]);
                }
            }
        }
        return false;
    }
}
