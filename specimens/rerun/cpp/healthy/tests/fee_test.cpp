#include "lending.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace {

class Fee : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Fee, GrowsByTheDay) {
    const auto [late, cents] = GetParam();
    EXPECT_EQ(fee(late), cents);
}

INSTANTIATE_TEST_SUITE_P(InTime, Fee, testing::Values(std::make_tuple(-3, 0), std::make_tuple(0, 0)));
INSTANTIATE_TEST_SUITE_P(Late, Fee,
                         testing::Values(std::make_tuple(1, 20), std::make_tuple(49, 980), std::make_tuple(400, 1000)),
                         [](const auto& info) { return std::to_string(std::get<0>(info.param)) + "days"; });

template <typename Days>
class FeeOf : public testing::Test {};

TYPED_TEST_SUITE_P(FeeOf);

TYPED_TEST_P(FeeOf, NothingIsOwedInTime) {
    EXPECT_EQ(fee(TypeParam(0)), 0);
}

TYPED_TEST_P(FeeOf, HasAnEnd) {
    EXPECT_EQ(fee(TypeParam(51)), 1000);
}

REGISTER_TYPED_TEST_SUITE_P(FeeOf, NothingIsOwedInTime, HasAnEnd);
using Days = testing::Types<short, long, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(Number, FeeOf, Days);

}  // namespace
