#include "canvas.h"

#include <gtest/gtest.h>

namespace {

constexpr std::size_t kWidth = 640;
constexpr std::size_t kHeight = 480;

TEST(Canvas, APixelCanBeSet) {
    Canvas canvas(2, 2);
    canvas.set(1, 0, 128);
    EXPECT_EQ(canvas.get(1, 0), 128);
}

TEST(Canvas, CanBeMadeBlack) {
    Canvas canvas(kWidth, kHeight);
    canvas.fill(255);
    canvas.fill(0);
    EXPECT_EQ(canvas.bright(), 0u);
}

TEST(Canvas, FillsEveryPixel) {
    Canvas canvas(kWidth, kHeight);
    canvas.fill(255);
    EXPECT_EQ(canvas.bright(), kWidth * kHeight);
}

TEST(Canvas, IsBlackAtFirst) {
    Canvas canvas(kWidth, kHeight);
    EXPECT_EQ(canvas.bright(), 0u);
}

}  // namespace
