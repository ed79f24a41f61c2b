#include "logbook.h"

#include <gtest/gtest.h>

namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

TEST(Logbook, TextStandsInColumnFourteen) {
    const std::string written = line("opened");
    EXPECT_EQ(written.find("opened"), 13u) << written;
}

TEST(Logbook, TextComesLast) {
    const std::string written = line("closed");
    EXPECT_EQ(written.substr(written.rfind(' ')), " closed");
}

TEST(Stamp, HasHoursMinutesAndSeconds) {
    EXPECT_EQ(stamp(system_clock::time_point(milliseconds(50'709'250))), "14:05:09.250");
}

TEST(Stamp, StartsAgainAtMidnight) {
    EXPECT_EQ(stamp(system_clock::time_point(milliseconds(86'400'999))), "00:00:00.999");
}

}  // namespace
