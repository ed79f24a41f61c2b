package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Table 5.1: what six assertions see in ten runs. Each has a test of its own, so that all are reached. */
class WindowTest {
    @Test
    void root() {
        boolean isRoot = false;
        assertEquals(false, isRoot);
    }

    @Test
    void width() throws IOException {
        int width = new int[] {358, 358, 358, 358, 358, 348, 348, 348, 338, 338}[Table.runNumber("width")];
        assertEquals(358, width);
    }

    @Test
    void height() throws IOException {
        int height = new int[] {496, 496, 496, 496, 498, 498, 498, 500, 500, 502}[Table.runNumber("height")];
        assertEquals(496, height);
    }

    @Test
    void text() {
        String text = "Indent...";
        assertEquals("Indent...", text);
    }

    @Test
    void selected() throws IOException {
        boolean selected = Table.runNumber("selected") != 3;
        assertEquals(true, selected);
    }

    @Test
    void y() throws IOException {
        int y = Table.runNumber("y") < 7 ? 22 : 17;
        assertEquals(22, y);
    }
}
