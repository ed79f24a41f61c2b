package com.acme;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ShardsTest {
    @Test
    void jobIsTaken() {
        Shards shards = new Shards();
        int shard = Shards.mine();
        assertTrue(shards.take("sweep", shard));
    }

    @Test
    void closedShardTakesNothing() {
        assertFalse(new Shards().take("sweep", 0));
    }
}
