package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class AlbumTest {
    @Test
    void picturesAreInOrder() throws Exception {
        List<String> pictures = new Album().fill("dawn", "noon", "dusk", "night");
        assertEquals(Arrays.asList("dawn-small", "noon-small", "dusk-small", "night-small"), pictures);
    }

    @Test
    void onePictureIsThere() throws Exception {
        assertEquals(Collections.singletonList("dawn-small"), new Album().fill("dawn"));
    }
}
