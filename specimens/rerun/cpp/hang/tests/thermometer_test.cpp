#include "thermometer.h"

#include <gtest/gtest.h>

namespace {

class Week : public testing::Test {
protected:
    void SetUp() override {
        for (double degrees : {17.5, 21.0, 19.5}) {
            thermometer_.add(degrees);
        }
    }

    Thermometer thermometer_;
};

TEST_F(Week, EveryDayIsWarmerThanIce) {
    EXPECT_EQ(thermometer_.first_above(0.0), 0u);
}

TEST_F(Week, NoDayIsHot) {
    EXPECT_EQ(thermometer_.first_above(30.0), 3u);
}

TEST_F(Week, TheColdestDayIsTheFirst) {
    EXPECT_EQ(thermometer_.first_above(17.5), 0u);
}

TEST(Thermometer, IsEmptyAtFirst) {
    EXPECT_EQ(Thermometer().first_above(0.0), 0u);
}

}  // namespace
