#include "download.h"

#include <gtest/gtest.h>

namespace {

TEST(Download, SurvivesACut) {
    Slots slots(2);
    EXPECT_GE(download(slots), 1);
}

TEST(Slots, AreGivenBack) {
    Slots slots(1);
    slots.take();
    slots.give_back();
    EXPECT_EQ(slots.free(), 1);
}

}  // namespace
