package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;

class ArticleTest {
    @Test
    void titleIsTheFirstTag() {
        assertEquals("Rust", new Article().title(Article.tags()));
    }

    @Test
    void oneTagIsTheTitle() {
        assertEquals("Rust", new Article().title(Set.of("rust")));
    }
}
