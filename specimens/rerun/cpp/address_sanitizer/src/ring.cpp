#include "ring.h"

void Ring::put(int value) {
    if (at_ > size_) {
        at_ = 0;
    }
    values_[at_++] = value;
}

int Ring::latest() const {
    return at_ == 0 ? 0 : values_[at_ - 1];
}

int Ring::sum() const {
    int sum = 0;
    for (std::size_t i = 0; i < size_; ++i) {
        sum += values_[i];
    }
    return sum;
}
