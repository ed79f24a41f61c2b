#include "price.h"

#include <gtest/gtest.h>

namespace {

struct Case {
    const char* text;
    int cents;
};

void PrintTo(const Case& example, std::ostream* out) {
    *out << example.text;
}

class Rounding : public testing::TestWithParam<Case> {};

TEST_P(Rounding, IsExact) {
    EXPECT_EQ(cents(GetParam().text), GetParam().cents);
}

INSTANTIATE_TEST_SUITE_P(Prices, Rounding, testing::Values(Case{"9.90", 990}, Case{"0.50", 50}, Case{"4.35", 435}));
INSTANTIATE_TEST_SUITE_P(Named, Rounding, testing::Values(Case{"0.00", 0}, Case{"1.00", 100}),
                         [](const auto& info) { return "Of" + std::to_string(info.param.cents); });

template <typename Number>
class TapeTest : public testing::Test {
protected:
    Tape<Number> tape_;
};

using Numbers = testing::Types<int, double>;
TYPED_TEST_SUITE(TapeTest, Numbers);

TYPED_TEST(TapeTest, IsEmptyAtFirst) {
    EXPECT_TRUE(this->tape_.empty());
}

TYPED_TEST(TapeTest, AddsUp) {
    this->tape_.push(TypeParam(3) / 2);
    this->tape_.push(TypeParam(3) / 2);
    EXPECT_EQ(this->tape_.total(), TypeParam(3) / 2 + TypeParam(3) / 2);
}

TEST(Price, MayBeWithoutAPoint) {
    EXPECT_EQ(cents("10"), 1000);
}

}  // namespace
