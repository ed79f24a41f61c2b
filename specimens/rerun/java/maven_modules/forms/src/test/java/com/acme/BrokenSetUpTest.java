package com.acme;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class BrokenSetUpTest {
    @BeforeAll
    static void setUp() {
        throw new IllegalStateException("no server");
    }

    @Test
    void one() {
    }

    @Test
    void two() {
    }
}
