package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import org.junit.Test;

/** Failsafe runs this class, when the project is packaged. */
public class TillIT {
    @Test
    public void isPackaged() {
        assertTrue(new File("target/versions-1.jar").isFile());
    }

    @Test
    public void fails() {
        assertEquals(3, 1 + 1);
    }
}
