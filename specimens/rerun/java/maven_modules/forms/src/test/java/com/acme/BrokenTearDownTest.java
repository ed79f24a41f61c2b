package com.acme;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class BrokenTearDownTest {
    @AfterAll
    static void tearDown() {
        throw new IllegalStateException("still open");
    }

    @Test
    void only() {
    }
}
