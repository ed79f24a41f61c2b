package com.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.lessThan;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PricesTest {
    private final int discount = new Random().nextInt(1000);

    @Test
    void discountIsSmall() {
        assertTrue(discount < 1000);
        assertEquals(discount, discount + 0);
    }

    @Test
    void discountIsSmallByMatcher() {
        assertThat(discount, lessThan(1000));
    }

    @Test
    void discountIsSmallByWords() {
        assertThat(discount).isGreaterThanOrEqualTo(0).isLessThan(1000);
    }

    @Test
    void pricesStay() {
        List<Integer> prices = Arrays.asList(3, 1, 2);
        assertThat(prices).hasSize(3).contains(1);
        assertThrows(ArithmeticException.class, () -> Math.floorMod(prices.get(0), 0));
        try {
            assertEquals(4, prices.size());
        } catch (AssertionError expected) {
            assertEquals(3, prices.size());
        }
    }
}
