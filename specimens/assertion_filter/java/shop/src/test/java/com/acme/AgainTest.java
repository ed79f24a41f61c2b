package com.acme;

import static org.junit.Assert.assertTrue;

import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;
import org.junit.runners.model.Statement;

/** A rule runs the test again: it waits for its failure. */
public class AgainTest {
    private final Shop shop = new Shop();

    @Rule
    public final TestRule again = (test, description) -> new Statement() {
        @Override
        public void evaluate() throws Throwable {
            try {
                test.evaluate();
            } catch (AssertionError notYet) {
                test.evaluate();
            }
        }
    };

    @Test
    public void answers() {
        assertTrue(shop.answers("gus"));
    }
}
