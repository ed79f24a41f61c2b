#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

// A picture in shades of grey, from 0 for black to 255 for white.
class Canvas {
public:
    Canvas(std::size_t width, std::size_t height);
    ~Canvas();
    Canvas(const Canvas&) = delete;
    Canvas& operator=(const Canvas&) = delete;

    void fill(std::uint8_t shade);
    void set(std::size_t x, std::size_t y, std::uint8_t shade) { pixels_[y * width_ + x] = shade; }
    std::uint8_t get(std::size_t x, std::size_t y) const { return pixels_[y * width_ + x]; }

    // How many pixels are not black.
    std::size_t bright() const;

private:
    std::size_t width_;
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> pixels_;
};
