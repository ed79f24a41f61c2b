package com.acme;

import java.util.ArrayList;
import java.util.List;

public class Till {
    private static final List<String> SOLD = new ArrayList<>();

    public int sell(String what) {
        SOLD.add(what);
        return SOLD.size();
    }
}
