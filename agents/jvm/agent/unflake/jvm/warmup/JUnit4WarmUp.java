package unflake.jvm.warmup;

import org.junit.Test;

/** The JUnit 4 counterpart of {@code JupiterWarmUp}. */
public class JUnit4WarmUp {
    @Test
    public void nothing() {
    }
}
