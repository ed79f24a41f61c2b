#include "price.h"

int cents(const std::string& text) {
    const std::size_t point = text.find('.');
    if (point == std::string::npos) {
        throw std::invalid_argument("no point in " + text);
    }
    return static_cast<int>(std::stod(text) * 100);
}
