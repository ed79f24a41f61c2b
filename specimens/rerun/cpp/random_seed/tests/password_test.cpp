#include "password.h"

#include <gtest/gtest.h>

namespace {

TEST(Password, HasTheLengthThatWasAskedFor) {
    EXPECT_EQ(Passwords(1).make(8).size(), 8u);
}

TEST(Password, HasADigit) {
    const std::string password = Passwords::from_file("tests/next.seed").make(12);
    EXPECT_TRUE(has_digit(password)) << password;
}

TEST(Password, DoesNotComeTwice) {
    Passwords passwords(1);
    EXPECT_NE(passwords.make(12), passwords.make(12));
}

TEST(Password, NeedsASeed) {
    EXPECT_THROW(Passwords::from_file("tests/no.seed"), std::runtime_error);
}

}  // namespace
