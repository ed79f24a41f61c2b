package unflake.junit;

import org.junit.Test;

/** As Warm, for JUnit 4. */
public class WarmClassic {
    @Test
    public void nothing() {
    }
}
