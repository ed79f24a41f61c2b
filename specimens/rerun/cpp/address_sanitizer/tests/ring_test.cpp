#include "ring.h"

#include <gtest/gtest.h>

namespace {

TEST(Ring, IsZeroAtFirst) {
    EXPECT_EQ(Ring(4).sum(), 0);
}

TEST(Ring, KnowsTheLatest) {
    Ring ring(4);
    ring.put(7);
    ring.put(9);
    EXPECT_EQ(ring.latest(), 9);
}

TEST(Ring, TakesMoreThanItKeeps) {
    Ring ring(4);
    for (int value = 1; value <= 5; ++value) {
        ring.put(value);
    }
    EXPECT_EQ(ring.latest(), 5);
}

TEST(Ring, AddsUp) {
    Ring ring(4);
    ring.put(7);
    ring.put(9);
    EXPECT_EQ(ring.sum(), 16);
}

}  // namespace
