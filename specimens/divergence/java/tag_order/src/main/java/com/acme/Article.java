package com.acme;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

final class Article {
    private final List<String> shown = new ArrayList<>();

    static Set<String> tags() {
        return Set.of("rust", "java");
    }

    String title(Set<String> tags) {
        String title = null;
        for (String tag : tags) {
            if (title == null) {
                title = tag;
            }
            shown.add(tag);
        }
        if (title != null && title.startsWith("r")) {
            return "R" + title.substring(1);
        }
        return "nothing but " + title;
    }
}
