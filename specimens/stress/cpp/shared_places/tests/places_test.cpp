// Each test uses a place that copies of it use, too: a file, a directory, a port.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace {

namespace fs = std::filesystem;

void hold() {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

TEST(Places, File) {
    const char *path = "/tmp/unflake-places-file-cpp";
    std::ofstream(path) << getpid();
    hold();
    int written = 0;
    std::ifstream(path) >> written;
    EXPECT_EQ(written, getpid());
    std::remove(path);
}

TEST(Places, Directory) {
    fs::remove_all("reports");
    ASSERT_TRUE(fs::create_directory("reports"));
    hold();
    ASSERT_TRUE(fs::create_directory("reports/daily"));
    EXPECT_EQ(std::distance(fs::directory_iterator("reports"), fs::directory_iterator()), 1);
}

TEST(Places, Port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(18943);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(bind(server, reinterpret_cast<sockaddr *>(&address), sizeof address), 0) << strerror(errno);
    ASSERT_EQ(listen(server, 1), 0) << strerror(errno);
    hold();
    close(server);
}

}  // namespace
