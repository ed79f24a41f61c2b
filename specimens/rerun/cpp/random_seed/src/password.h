#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

// Makes passwords of letters and digits.
class Passwords {
public:
    explicit Passwords(std::uint_fast32_t seed) : chance_(seed) {}

    // Takes the seed from a file and leaves the next one there, so that no password comes twice.
    static Passwords from_file(const std::string& path);

    std::string make(std::size_t length);

private:
    std::mt19937 chance_;
};

bool has_digit(const std::string& password);
