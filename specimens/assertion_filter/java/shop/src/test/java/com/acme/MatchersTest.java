package com.acme;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.greaterThan;

import org.junit.jupiter.api.Test;

class MatchersTest {
    private final Shop shop = new Shop();

    @Test
    void height() {
        assertThat(shop.height(), equalTo(496));
        assertThat(shop.total(), greaterThan(0));
    }
}
