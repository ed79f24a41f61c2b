// Tests that are hard to observe: each passes without an instrument.

#include <gtest/gtest.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern char** environ;

static int twice(int number) { return 2 * number; }

static unsigned depth(unsigned number) {
    volatile unsigned below = number == 0 ? 0 : depth(number - 1);
    return number == 0 ? 0 : below + 1;
}

template <typename Work>
static int child(Work work) {
    pid_t pid = fork();
    if (pid == 0) {
        _exit(work());
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Awkward, Forks) {
    EXPECT_EQ(child([] { return twice(21); }), 42);
    EXPECT_EQ(child([] { return child([] { return twice(3); }) + 1; }), 7);
}

TEST(Awkward, ForksFromAThread) {
    int status = 0;
    std::thread([&status] { status = child([] { return twice(4); }); }).join();
    EXPECT_EQ(status, 8);
}

TEST(Awkward, VforkAndExec) {
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", static_cast<char*>(nullptr));
        _exit(1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 9);
}

TEST(Awkward, Spawns) {
    pid_t pid = 0;
    char shell[] = "sh", command[] = "-c", text[] = "exit 7";
    char* words[] = {shell, command, text, nullptr};
    ASSERT_EQ(posix_spawn(&pid, "/bin/sh", nullptr, nullptr, words, environ), 0);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Awkward, ChildDies) {
    EXPECT_EQ(child([] { return raise(SIGKILL); }), 128 + SIGKILL);
    EXPECT_EQ(child([]() -> int { abort(); }), 128 + SIGABRT);
    EXPECT_GE(child([] { return static_cast<int>(depth(~0u)); }), 128);
}

TEST(Awkward, ChildClosesDescriptors) {
    EXPECT_EQ(child([] {
        for (int file = 3; file < 256; file++) {
            close(file);
        }
        return twice(5);
    }), 10);
}

TEST(AwkwardDeathTest, Exits) {
    EXPECT_EXIT(_exit(twice(2)), testing::ExitedWithCode(4), "");
    EXPECT_EXIT(exit(twice(3)), testing::ExitedWithCode(6), "");
    EXPECT_DEATH(abort(), "");
}

TEST(Awkward, Threads) {
    std::vector<int> found(16);
    std::vector<std::thread> threads;
    for (int number = 0; number < 16; number++) {
        threads.emplace_back([&found, number] { found[number] = twice(number); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(found[15], 30);
}

TEST(Awkward, DetachedThreadGoesOn) {
    std::thread([] {
        for (;;) {
            twice(1);
            usleep(1000);
        }
    }).detach();
}

static void* no_work(void*) { return reinterpret_cast<void*>(static_cast<long>(twice(3))); }

TEST(Awkward, SmallStack) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32 << 10);
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, &attributes, no_work, nullptr), 0);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(reinterpret_cast<long>(result), 6);
}

TEST(Awkward, DeepRecursion) { EXPECT_EQ(depth(10000), 10000u); }

static jmp_buf place;

static void jumps(int number) {
    if (number == 0) {
        longjmp(place, twice(2));
    }
    jumps(number - 1);
}

TEST(Awkward, LongJumps) {
    int value = setjmp(place);
    if (value == 0) {
        jumps(10);
    }
    EXPECT_EQ(value, 4);
}

static int throws(int number) {
    if (number == 0) {
        throw std::runtime_error("no");
    }
    return throws(number - 1) + 1;
}

TEST(Awkward, Exceptions) { EXPECT_THROW(throws(10), std::runtime_error); }

static volatile sig_atomic_t seen = 0;

TEST(Awkward, SignalHandlers) {
    auto before = signal(SIGUSR1, [](int number) { seen = twice(number); });
    raise(SIGUSR1);
    signal(SIGUSR1, before);
    EXPECT_EQ(seen, 2 * SIGUSR1);
}

TEST(Awkward, Alarms) {
    auto before = signal(SIGALRM, [](int number) { seen = number; });
    seen = 0;
    alarm(1);
    for (int time = 0; time < 1000 && seen == 0; time++) {
        usleep(10000);
    }
    signal(SIGALRM, before);
    EXPECT_EQ(seen, SIGALRM);
}
