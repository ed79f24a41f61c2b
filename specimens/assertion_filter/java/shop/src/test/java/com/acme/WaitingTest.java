package com.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/**
 * Failures that the test expects. None of them fails the test, and none may be ignored: the test would take another branch, and each
 * test checks that it does not.
 */
class WaitingTest {
    private final Shop shop = new Shop();

    @Test
    void asksUntilThereIsAnAnswer() {
        int asked = 0;
        int waited = 0;
        for (boolean isAnswered = false; !isAnswered;) {
            asked++;
            boolean answers = shop.answers("ann");
            waited += answers ? 0 : 1;
            try {
                assertTrue(answers);
                isAnswered = true;
            } catch (AssertionError notYet) {
                // Once more.
            }
        }
        assertEquals(waited + 1, asked);
    }

    @Test
    void oneOfThemAnswers() {
        boolean answers = shop.answers("bob");
        int[] after = {0};
        assertThat(Arrays.asList(answers, true)).anySatisfy(answer -> {
            assertEquals(true, answer);
            after[0]++;
        });
        assertEquals(1, after[0]);
    }

    @Test
    void somebodyElseAsks() throws InterruptedException {
        boolean answers = shop.answers("cora");
        Thread other = new Thread(() -> assertTrue(answers));
        Throwable[] problem = {null};
        other.setUncaughtExceptionHandler((thread, thrown) -> problem[0] = thrown);
        other.start();
        other.join();
        assertEquals(answers, problem[0] == null);
    }

    @Test
    void asksByName() throws ReflectiveOperationException {
        boolean answers = shop.answers("dan");
        boolean isAnswered = true;
        try {
            WaitingTest.class.getDeclaredMethod("check", boolean.class).invoke(this, answers);
        } catch (InvocationTargetException problem) {
            isAnswered = false;
        }
        assertEquals(answers, isAnswered);
    }

    private void check(boolean answers) {
        assertTrue(answers);
    }

    @Test
    void nobodyAnswers() {
        boolean answers = shop.answers("eve");
        if (!answers) {
            assertThrows(AssertionError.class, () -> mustAnswer(answers));
        }
        mustAnswer(true);
    }

    private void mustAnswer(boolean answers) {
        assertTrue(answers);
    }

    /** What its own code throws when an assertion calls it is no failure of the assertion, whatever its class. */
    @Test
    void isComparedByItsOwnCode() {
        boolean answers = shop.answers("fay");
        Object picky = new Object() {
            @Override
            public boolean equals(Object other) {
                if (!answers) {
                    throw new AssertionError("not now");
                }
                return true;
            }
        };
        boolean wasThrown = false;
        try {
            assertEquals(picky, shop);
        } catch (IllegalStateException | AssertionError thrown) {
            wasThrown = true;
        }
        assertEquals(answers, !wasThrown);
    }
}
