"""The branches of code: where each conditional jump and loop of a line can lead, by line numbers.

From Python 3.12 on a branch is an instruction with two ways. Before, only lines are seen, so a branch
is a step from a line with a conditional jump to the next line.
"""

import bisect
import dis

CONDITIONAL = frozenset(
    opcode
    for name, opcode in dis.opmap.items()
    if name.startswith(("POP_JUMP_", "JUMP_IF_")) or name == "FOR_ITER"
)


class CodeBranches:
    """Of one code object. Its instructions are read when a branch of it is described."""

    def __init__(self, code):
        self._code, self._jumps = code, None
        # Without the arguments of instructions, which are every second byte.
        self._has_branches = not CONDITIONAL.isdisjoint(code.co_code[::2])

    def __bool__(self):
        return self._has_branches

    def _read(self):
        code = self._code
        jumps = [(one.offset, one.argval) for one in dis.get_instructions(code) if one.opcode in CONDITIONAL]
        starts = [(start, line) for start, line in dis.findlinestarts(code) if line is not None]
        self._starts, self._lines = [start for start, _ in starts], [line for _, line in starts]
        self._jumps = dict(jumps)
        self._of_line = {}
        for offset, _ in jumps:
            self._of_line.setdefault(self._line(offset), []).append(offset)

    def _line(self, offset):
        at = bisect.bisect_right(self._starts, offset) - 1
        return self._lines[at] if at >= 0 else None

    def way(self, offset, destination):
        """Line and description of the way that an instruction took; None if it has no line."""
        if self._jumps is None:
            self._read()
        line, there = self._line(offset), self._line(destination)
        if line is None:
            return None
        ordinal = bisect.bisect_right(self._of_line.get(line, []), offset) or 1
        if there is None or there == line:
            jumped = self._jumps.get(offset) == destination
            return line, "branch %d, %s" % (ordinal, "jump" if jumped else "no jump")
        return line, "branch %d to line %d" % (ordinal, there)

    def step(self, before, after):
        """Line and description of a step between lines; None if nothing decided on it."""
        if self._jumps is None:
            self._read()
        return (before, "branch to line %d" % after) if before in self._of_line else None


def write_branches(layer_file, codes):
    """Writes the branches that an attempt took, at its end."""
    files = {}
    for known in codes:
        branches = known.branches
        if branches:
            describe = branches.way if known.has_offsets else branches.step
            ways = {describe(*pair) for pair in list(known.taken)}  # Threads may still run.
            files.setdefault(known.file, set()).update(ways - {None})
    for file in sorted(files):
        if files[file]:
            layer_file.buffer(layer_file.encode(["branches", layer_file.file_number(file), sorted(files[file])]))
