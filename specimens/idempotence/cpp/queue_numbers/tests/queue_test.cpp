#include "queue.h"

#include <gtest/gtest.h>

namespace {

TEST(Queue, NumbersStartAtOne) {
    EXPECT_EQ(draw_number(), 1);
}

TEST(Queue, NumbersGrow) {
    const int first = draw_number();

    EXPECT_EQ(draw_number(), first + 1);
}

TEST(Queue, NobodyMeansNoWait) {
    EXPECT_EQ(seconds_to_wait(0), 0);
}

}  // namespace
