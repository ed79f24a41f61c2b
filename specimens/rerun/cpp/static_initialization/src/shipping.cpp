#include "shipping.h"

#include "rates.h"

#include <algorithm>

namespace {

const int minimum_cents = 4 * kilogram_rate;

}  // namespace

int minimum() {
    return minimum_cents;
}

int shipping(int kilograms) {
    return std::max(minimum_cents, kilograms * kilogram_rate);
}
