#include "thermometer.h"

#include <algorithm>

void Thermometer::add(double degrees) {
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), degrees), degrees);
}

std::size_t Thermometer::first_above(double degrees) const {
    std::size_t low = 0;
    std::size_t high = sorted_.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (sorted_[middle] < degrees) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
