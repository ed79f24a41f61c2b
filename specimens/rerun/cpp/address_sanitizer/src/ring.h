#pragma once

#include <cstddef>
#include <memory>

// Keeps the last measurements.
class Ring {
public:
    explicit Ring(std::size_t size) : size_(size), values_(new int[size]()) {}

    void put(int value);
    int latest() const;
    int sum() const;

private:
    std::size_t size_;
    std::size_t at_ = 0;
    std::unique_ptr<int[]> values_;
};
