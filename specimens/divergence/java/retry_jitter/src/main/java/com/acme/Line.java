package com.acme;

/** Loses the first messages. */
final class Line {
    private int lost;

    Line(int lost) {
        this.lost = lost;
    }

    boolean takes(String message) {
        if (lost > 0) {
            lost--;
            return false;
        }
        return !message.isEmpty();
    }
}
