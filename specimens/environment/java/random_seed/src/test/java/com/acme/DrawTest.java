package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

class DrawTest {
    @Test
    void before() {
        new Random().nextInt();
        UUID.randomUUID();
    }

    @Test
    void draw() {
        int random = new Random().nextInt(1000);
        List<Integer> shuffled = new ArrayList<>(Arrays.asList(1, 2, 3, 4));
        Collections.shuffle(shuffled);
        String drawn = "drew " + random + " " + (int) (1000 * Math.random()) + " " + shuffled + " " + UUID.randomUUID() + " "
            + new SecureRandom().nextInt(1000) + " " + ThreadLocalRandom.current().nextInt(1000) + " " + new SplittableRandom().nextInt(1000);
        assertTrue(random < 700, drawn);
    }
}
