#include "logbook.h"

#include <gtest/gtest.h>

#include <chrono>

namespace {

TEST(Logbook, LinesAreWritten) {
    Logbook logbook;
    logbook.add();
    logbook.add();
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    EXPECT_EQ(logbook.written(), 2);
}

TEST(Logbook, NothingIsWrittenByItself) {
    Logbook logbook;
    EXPECT_EQ(logbook.written(), 0);
}

}  // namespace
