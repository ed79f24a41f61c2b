package com.acme;

import org.testng.annotations.AfterClass;
import org.testng.annotations.Test;

public class TearDownTest {
    @Test
    public void passes() {
    }

    @AfterClass
    public void breaks() {
        throw new IllegalStateException("no tear-down");
    }
}
