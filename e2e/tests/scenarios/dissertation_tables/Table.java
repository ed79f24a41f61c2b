package com.acme;

import java.io.FileOutputStream;
import java.io.IOException;
import java.util.List;

/** Six lines, each executed where it is asked for. */
class Table {
    static int execute(List<Integer> wanted) {
        int done = 0;
        if (wanted.contains(1)) {
            done += 1;
        }
        if (wanted.contains(2)) {
            done += 2;
        }
        if (wanted.contains(3)) {
            done += 3;
        }
        if (wanted.contains(4)) {
            done += 4;
        }
        if (wanted.contains(5)) {
            done += 5;
        }
        if (wanted.contains(6)) {
            done += 6;
        }
        return done;
    }

    /** 0 in the first run, 1 in the second: a file outside of the project grows. */
    static int runNumber(String name) throws IOException {
        try (FileOutputStream file = new FileOutputStream("../runs-" + name, true)) {
            file.write('.');
            return (int) file.getChannel().size() - 1;
        }
    }
}
