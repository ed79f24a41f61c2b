package com.acme;

import java.util.Arrays;
import java.util.List;

/** A shop with a window. What the window manager, a set or a clock decides is not always the same. */
public final class Shop {
    public int total() {
        return 10 + 20;
    }

    public int width() {
        return Chance.is("width") ? 348 : 358;
    }

    public int height() {
        return Chance.is("height") ? 480 : 496;
    }

    /** Where the tip stands when somebody looks: it may still be on its way. */
    public int tip() {
        return Chance.is("tip") ? 7 : 22;
    }

    public boolean isOpen() {
        return !Chance.is("open");
    }

    /** As a set has them that knows things by where they are in memory. */
    public List<String> names() {
        return Chance.is("names") ? Arrays.asList("bob", "ann") : Arrays.asList("ann", "bob");
    }

    /** Whether somebody is there. */
    public boolean answers(String whom) {
        return !Chance.is("answers-" + whom);
    }
}
