#pragma once

#include <string>

enum class Answer { Welcome, Wrong, Locked };

// After three wrong passwords an address is locked out.
Answer login(const std::string& address, const std::string& user, const std::string& password);
