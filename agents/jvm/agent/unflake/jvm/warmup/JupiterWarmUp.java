package unflake.jvm.warmup;

import org.junit.jupiter.api.Test;

/** An empty test, run to record the class-data-sharing archive. */
class JupiterWarmUp {
    @Test
    void nothing() {
    }
}
