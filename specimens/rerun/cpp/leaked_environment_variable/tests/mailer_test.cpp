#include "mailer.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class Sender : public testing::Test {
protected:
    void SetUp() override { setenv("MAILER_SENDER", "news@example.org", 1); }
    void TearDown() override { unsetenv("MAILER_SENDER"); }
};

TEST_F(Sender, CanBeChosen) {
    EXPECT_EQ(sender(), "news@example.org");
}

TEST(DryRun, SendsNothing) {
    setenv("MAILER_DRY_RUN", "1", 1);
    std::vector<std::string> transport;
    EXPECT_FALSE(deliver("hello", transport));
    EXPECT_TRUE(transport.empty());
}

TEST(Mailer, TheShopSendsByItself) {
    EXPECT_EQ(sender(), "shop@example.org");
}

TEST(Mailer, MailsGoOut) {
    std::vector<std::string> transport;
    EXPECT_TRUE(deliver("hello", transport));
    EXPECT_EQ(transport, std::vector<std::string>{"shop@example.org: hello"});
}

}  // namespace
