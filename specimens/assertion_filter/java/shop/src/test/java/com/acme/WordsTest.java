package com.acme;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WordsTest {
    private final Shop shop = new Shop();

    @Test
    void names() {
        assertThat(shop.names())
            .hasSize(2)
            .containsExactly("ann", "bob")
            .doesNotContain("eve");
    }
}
