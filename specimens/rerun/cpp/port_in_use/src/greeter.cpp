#include "greeter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace {

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

int checked(int result) {
    if (result < 0) {
        throw std::system_error(errno, std::generic_category());
    }
    return result;
}

}  // namespace

Greeter::Greeter(std::uint16_t port) : socket_(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) {
    const sockaddr_in address = loopback(port);
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 || listen(socket_, 8) < 0) {
        const std::error_code error(errno, std::generic_category());
        close(socket_);
        throw std::system_error(error, "port " + std::to_string(port));
    }
}

Greeter::~Greeter() {
    close(socket_);
}

std::uint16_t Greeter::port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    checked(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length));
    return ntohs(address.sin_port);
}

void Greeter::greet_one(const std::string& greeting) {
    const int guest = checked(accept(socket_, nullptr, nullptr));
    checked(static_cast<int>(send(guest, greeting.data(), greeting.size(), MSG_NOSIGNAL)));
    close(guest);
}

int connect_to(std::uint16_t port) {
    const int connection = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    checked(connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return connection;
}

std::string listen_to(int connection) {
    std::string heard;
    char part[64];
    for (ssize_t length; (length = recv(connection, part, sizeof part, 0)) > 0;) {
        heard.append(part, static_cast<std::size_t>(length));
    }
    close(connection);
    return heard;
}
