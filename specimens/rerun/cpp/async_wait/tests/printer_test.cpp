#include "printer.h"

#include <gtest/gtest.h>

#include <chrono>

namespace {

TEST(Printer, PrintsEveryLabel) {
    Printer printer;
    for (int parcel = 0; parcel < 50; ++parcel) {
        printer.print("parcel " + std::to_string(parcel));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(printer.printed(), 50u);
}

TEST(Printer, PrintsNothingByItself) {
    Printer printer;
    EXPECT_EQ(printer.printed(), 0u);
}

TEST(Bars, OneLineForEachCharacter) {
    EXPECT_EQ(bars("A"), "|     | \n");
}

TEST(Bars, NothingForNothing) {
    EXPECT_EQ(bars(""), "");
}

}  // namespace
