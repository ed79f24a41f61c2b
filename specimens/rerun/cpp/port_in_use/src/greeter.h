#pragma once

#include <cstdint>
#include <string>

// Greets whoever connects on the loopback interface, one after the other.
class Greeter {
public:
    // Port 0 stands for any free one. Throws std::system_error.
    explicit Greeter(std::uint16_t port);
    ~Greeter();
    Greeter(const Greeter&) = delete;
    Greeter& operator=(const Greeter&) = delete;

    std::uint16_t port() const;
    void greet_one(const std::string& greeting);

private:
    int socket_;
};

// What the server at the port says until it hangs up.
std::string listen_to(int connection);
int connect_to(std::uint16_t port);
