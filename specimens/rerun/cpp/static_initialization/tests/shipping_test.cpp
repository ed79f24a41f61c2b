#include "rates.h"
#include "shipping.h"

#include <gtest/gtest.h>

namespace {

TEST(Rates, AreKnownByYear) {
    EXPECT_EQ(rate_in(2024), 110);
}

TEST(Rates, ThisYearHolds) {
    EXPECT_EQ(kilogram_rate, 125);
}

TEST(Shipping, IsPaidByTheKilogram) {
    EXPECT_EQ(shipping(10), 1250);
}

TEST(Shipping, HasAMinimum) {
    EXPECT_EQ(shipping(1), 500) << "minimum " << minimum();
}

}  // namespace
