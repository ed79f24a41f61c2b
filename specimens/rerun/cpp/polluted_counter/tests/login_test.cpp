#include "login.h"

#include <gtest/gtest.h>

#include <ostream>

void PrintTo(Answer answer, std::ostream* out) {
    *out << (answer == Answer::Welcome ? "welcome" : answer == Answer::Wrong ? "wrong" : "locked");
}

namespace {

constexpr char kHome[] = "192.0.2.1";

TEST(Login, TheRightPasswordIsWelcome) {
    EXPECT_EQ(login(kHome, "ana", "tulip"), Answer::Welcome);
}

TEST(Login, AWrongPasswordIsRefused) {
    EXPECT_NE(login(kHome, "ana", "daisy"), Answer::Welcome);
}

TEST(Login, AnUnknownUserIsRefused) {
    EXPECT_NE(login(kHome, "ben", "tulip"), Answer::Welcome);
}

TEST(Login, AnotherAddressIsNotLockedOut) {
    EXPECT_EQ(login("192.0.2.7", "ana", "tulip"), Answer::Welcome);
}

TEST(Login, ATypingErrorIsForgiven) {
    EXPECT_NE(login(kHome, "ana", "tuilp"), Answer::Welcome);
    EXPECT_EQ(login(kHome, "ana", "tulip"), Answer::Welcome);
}

}  // namespace
