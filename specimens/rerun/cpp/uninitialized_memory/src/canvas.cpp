#include "canvas.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace {

using Pixels = std::unique_ptr<std::uint8_t[]>;

// Large blocks are slow to get from the system, so they are kept for the next canvas of the same size.
std::map<std::size_t, std::vector<Pixels>> spare;

Pixels take(std::size_t size) {
    std::vector<Pixels>& fitting = spare[size];
    if (fitting.empty()) {
        return Pixels(new std::uint8_t[size]);
    }
    Pixels pixels = std::move(fitting.back());
    fitting.pop_back();
    return pixels;
}

}  // namespace

Canvas::Canvas(std::size_t width, std::size_t height)
    : width_(width), size_(width * height), pixels_(take(size_)) {}

Canvas::~Canvas() {
    spare[size_].push_back(std::move(pixels_));
}

void Canvas::fill(std::uint8_t shade) {
    std::fill_n(pixels_.get(), size_, shade);
}

std::size_t Canvas::bright() const {
    const std::uint8_t* begin = pixels_.get();
    return size_ - static_cast<std::size_t>(std::count(begin, begin + size_, 0));
}
