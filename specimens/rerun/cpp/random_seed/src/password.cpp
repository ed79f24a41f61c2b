#include "password.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

Passwords Passwords::from_file(const std::string& path) {
    std::uint_fast32_t seed;
    if (!(std::ifstream(path) >> seed)) {
        throw std::runtime_error("no seed in " + path);
    }
    std::ofstream(path) << seed + 1 << "\n";
    return Passwords(seed);
}

std::string Passwords::make(std::size_t length) {
    const std::string characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::string password;
    while (password.size() < length) {
        password += characters[chance_() % characters.size()];
    }
    return password;
}

bool has_digit(const std::string& password) {
    return std::any_of(password.begin(), password.end(), [](char c) { return c >= '0' && c <= '9'; });
}
