#include <gtest/gtest.h>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <unistd.h>

static int sold = 0;
static bool asked(const char* what) {
    const char* wanted = getenv("SHOP");
    return wanted && strstr(wanted, what);
}

static bool first_time() {
    bool first = access("mark", F_OK) != 0;
    fclose(fopen("mark", "w"));
    return first;
}
TEST(Flaky, FailsTheFirstTime) { EXPECT_FALSE(first_time()); }

TEST(Plain, Passes) { EXPECT_EQ(1, 1); }
TEST(Plain, Fails) {
    std::cout << "two, please" << std::endl;
    EXPECT_EQ(2, 3) << "two cost three";
}
TEST(Plain, IsSkipped) { GTEST_SKIP() << "no till here"; }
TEST(Plain, DISABLED_IsDisabled) { FAIL(); }
TEST(Plain, Throws) { throw std::runtime_error("no change"); }
TEST(Plain, SaysWhatIsNoText) {
    std::cout << "\xff\xfe\n";
    FAIL() << "\xff";
}

class Basket : public testing::Test {
protected:
    static void SetUpTestSuite() { shared = 7; }
    void SetUp() override { own = shared; }
    static int shared;
    int own = 0;
};
int Basket::shared = 0;
TEST_F(Basket, IsSetUp) { EXPECT_EQ(own, 7); }
TEST_F(Basket, IsSetUpAgain) { EXPECT_EQ(own, 7); }

class Even : public testing::TestWithParam<int> {};
TEST_P(Even, IsEven) { EXPECT_EQ(GetParam() % 2, 0); }
INSTANTIATE_TEST_SUITE_P(Some, Even, testing::Values(2, 4, 7));
class Word : public testing::TestWithParam<const char*> {};
TEST_P(Word, IsShort) { EXPECT_LT(strlen(GetParam()), 4u); }
INSTANTIATE_TEST_SUITE_P(Named, Word, testing::Values("a", "long"),
                         [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

template <typename T> class Sized : public testing::Test {};
using Types = testing::Types<char, int>;
TYPED_TEST_SUITE(Sized, Types);
TYPED_TEST(Sized, IsOne) { EXPECT_EQ(sizeof(TypeParam), 1u); }

TEST(CashDeathTest, Dies) { EXPECT_DEATH({ std::cerr << "out of cash\n"; abort(); }, "out of cash"); }
TEST(CashDeathTest, LivesOn) { EXPECT_DEATH({}, "out of cash"); }

TEST(Crash, Before) {}
TEST(Crash, Dies) { *static_cast<volatile int*>(nullptr) = 1; }
TEST(Crash, Leaves) { _exit(0); }
TEST(Crash, After) {}

TEST(Hang, Before) {}
TEST(Hang, Hangs) {
    if (system("setsid sleep 1000 & echo yes > here")) FAIL();
    for (;;) sleep(1);
}
TEST(Hang, After) {}

TEST(Memory, Before) {}
TEST(Memory, IsReadAfterItsEnd) {
    volatile char* piece = new char[8];
    delete[] piece;
    EXPECT_EQ(piece[0], piece[0]);
}
TEST(Memory, After) {}

TEST(State, Sells) { sold++; }
TEST(State, HasSoldNothing) { EXPECT_EQ(sold, 0); }

TEST(Flood, Floods) {
    std::string line(1023, 'x');
    line += '\n';
    for (int i = 0; i < 100 * 1024; i++) fwrite(line.data(), 1, line.size(), stdout);
    FAIL() << "at the end of the flood";
}
TEST(Flood, After) {}

class SetUpFails : public testing::Test {
protected:
    static void SetUpTestSuite() { FAIL() << "no shelf"; }
};
TEST_F(SetUpFails, One) {}
TEST_F(SetUpFails, Two) {}
class TearDownFails : public testing::Test {
protected:
    static void TearDownTestSuite() { FAIL() << "the shelf is dirty"; }
};
TEST_F(TearDownFails, One) {}
TEST_F(TearDownFails, Two) {}

TEST(Last, Passes) {}
TEST(LastFlaky, FailsTheFirstTime) { EXPECT_FALSE(first_time()); }

class World : public testing::Environment {
    void SetUp() override {
        if (asked("set-up")) FAIL() << "the world is not there";
    }
    void TearDown() override {
        if (asked("tear-down")) ADD_FAILURE() << "the world is dirty";
        if (asked("dies")) abort();
    }
};

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new World);
    int code = RUN_ALL_TESTS();
    if (testing::GTEST_FLAG(list_tests)) return code;
    return asked("exit-1") ? 1 : asked("exit-3") ? 3 : code;
}
