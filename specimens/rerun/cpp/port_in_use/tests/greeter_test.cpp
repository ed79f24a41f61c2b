#include "greeter.h"

#include <gtest/gtest.h>

namespace {

// One port for all tests, so that the firewall asks only once.
std::uint16_t test_port() {
    static const std::uint16_t port = Greeter(0).port();
    return port;
}

TEST(Greeter, FindsAFreePort) {
    EXPECT_NE(Greeter(0).port(), 0);
}

TEST(Greeter, GreetsAGuest) {
    Greeter greeter(test_port());
    const int guest = connect_to(test_port());
    greeter.greet_one("good evening");
    EXPECT_EQ(listen_to(guest), "good evening");
}

TEST(Greeter, MayHaveNothingToSay) {
    Greeter greeter(test_port());
    const int guest = connect_to(test_port());
    greeter.greet_one("");
    EXPECT_EQ(listen_to(guest), "");
}

TEST(Greeter, DoesNotShareAPort) {
    Greeter greeter(0);
    EXPECT_ANY_THROW(Greeter(greeter.port()));
}

}  // namespace
