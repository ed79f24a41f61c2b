package com.acme;

import org.testng.annotations.BeforeClass;
import org.testng.annotations.Test;

/** TestNG skips tests whose configuration failed, and what depends on them. */
public class ConfigurationTest {
    @BeforeClass
    public void breaks() {
        throw new IllegalStateException("no set-up");
    }

    @Test
    public void hasNoSetUp() {
    }

    @Test(dependsOnMethods = "hasNoSetUp")
    public void needsIt() {
    }
}
