package unflake.jvm.bytecode;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/** What a line of a method does with an exception that is thrown there. */
public final class ExceptionHandlers {
    public static final class Handler {
        /** Binary name; null catches everything. */
        public final String type;
        /** Whether the method can return normally after the handler. */
        public final boolean canReturn;

        Handler(String type, boolean canReturn) {
            this.type = type;
            this.canReturn = canReturn;
        }
    }

    private final CodeAttribute code;
    /** Rows of the exception table: start, end, handler, class. */
    private final List<int[]> ranges = new ArrayList<>();

    private ExceptionHandlers(CodeAttribute code) {
        this.code = code;
        code.forEachHandler(ranges::add);
    }

    /**
     * Handlers of all methods with this name that cover the line; of all lines if it is unknown (0
     * or less).
     */
    public static List<Handler> covering(byte[] type, String method, int line) throws IOException {
        List<Handler> result = new ArrayList<>();
        new ClassRewriter(type).rewrite((methodInfo, code) -> {
            if (methodInfo.name().equals(method)) {
                new ExceptionHandlers(code).addCovering(line, result);
            }
            return null;
        });
        return result;
    }

    private void addCovering(int line, List<Handler> result) throws IOException {
        TreeMap<Integer, Integer> lines = new TreeMap<>();
        code.forEachRow("LineNumberTable", 2, row -> lines.put(row[0], row[1]));
        for (int[] range : ranges) {
            boolean covers = line <= 0 || lines.isEmpty();
            for (int first : lines.keySet()) {
                Integer next = lines.higherKey(first);
                int end = next == null ? code.layout.length : next;
                covers |= lines.get(first) == line && first < range[1] && range[0] < end;
            }
            if (covers) {
                result.add(new Handler(range[3] == 0 ? null : code.pool.type(range[3]).replace('/', '.'), canReturn(range[2])));
            }
        }
    }

    /** Whether a path leads from this instruction to a return. */
    private boolean canReturn(int start) {
        Set<Integer> visited = new HashSet<>();
        Deque<Integer> queue = new ArrayDeque<>();
        queue.add(start);
        while (!queue.isEmpty()) {
            int pc = queue.remove();
            if (!visited.add(pc)) {
                continue;
            }
            int opcode = code.layout.opcode(pc);
            // Targets of the obsolete jsr and ret are not computed.
            if (Instructions.isReturn(opcode) || opcode == Instructions.JSR || opcode == Instructions.RET) {
                return true;
            }
            for (int successor : code.layout.successors(pc)) {
                queue.add(successor);
            }
            for (int[] range : ranges) {
                if (range[0] <= pc && pc < range[1]) {
                    queue.add(range[2]);
                }
            }
        }
        return false;
    }
}
