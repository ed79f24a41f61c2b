#pragma once

#include <chrono>
#include <string>

// The time of day in UTC, such as 14:05:09.250.
std::string stamp(std::chrono::system_clock::time_point time);

// A line of the log book with the time of now.
std::string line(const std::string& text);
