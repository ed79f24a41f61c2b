package com.acme;

import java.util.ArrayList;
import java.util.List;

public final class Registry {
    public static final List<String> NAMES = new ArrayList<>();
    public static int visits;

    private Registry() {
    }
}
