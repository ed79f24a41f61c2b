package unflake.junit;

import org.junit.jupiter.api.Test;

/** A test that does nothing: what it takes to run it is what is worth keeping in an archive of loaded classes. */
class Warm {
    @Test
    void nothing() {
    }
}
