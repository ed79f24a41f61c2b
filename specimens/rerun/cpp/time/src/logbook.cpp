#include "logbook.h"

#include <ctime>

std::string stamp(std::chrono::system_clock::time_point time) {
    const auto since_epoch = time.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch - seconds);
    const std::time_t whole = seconds.count();
    std::tm parts{};
    gmtime_r(&whole, &parts);
    char text[16];
    std::strftime(text, sizeof text, "%H:%M:%S.", &parts);
    return text + std::to_string(milliseconds.count());
}

std::string line(const std::string& text) {
    return stamp(std::chrono::system_clock::now()) + " " + text;
}
