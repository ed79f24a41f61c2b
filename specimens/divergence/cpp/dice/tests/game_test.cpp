#include "game.h"

#include <gtest/gtest.h>

namespace {

TEST(Game, WhoBeginsWins) {
    int shuffles = 0;
    EXPECT_EQ(play(0, shuffles), 0);
}

TEST(Game, DiceHaveSixSides) {
    const int rolled = roll();
    EXPECT_GE(rolled, 1);
    EXPECT_LE(rolled, 6);
}

}  // namespace
