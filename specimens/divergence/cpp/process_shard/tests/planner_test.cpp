#include "planner.h"

#include <gtest/gtest.h>

namespace {

const std::vector<Job> jobs = {{"hourly", 7}, {"nightly", 4}};

TEST(Planner, NightlyJobIsPlanned) {
    const std::vector<std::string> planned = plan(jobs);
    ASSERT_EQ(planned.size(), 2u);
    EXPECT_EQ(planned[1], "nightly");
}

TEST(Planner, HourlyJobIsPlanned) {
    EXPECT_EQ(plan(jobs).at(0), "hourly");
}

}  // namespace
