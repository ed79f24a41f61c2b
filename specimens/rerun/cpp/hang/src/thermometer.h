#pragma once

#include <cstddef>
#include <vector>

// Measurements in ascending order.
class Thermometer {
public:
    void add(double degrees);

    // The place of the first measurement that is at least so warm, or how many there are.
    std::size_t first_above(double degrees) const;

private:
    std::vector<double> sorted_;
};
