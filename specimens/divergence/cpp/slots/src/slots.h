#pragma once

#include <stdexcept>

// So many downloads at the same time, and no more.
class Slots {
public:
    explicit Slots(int size) : free_(size) {}

    void take() {
        if (free_ == 0) {
            throw std::runtime_error("all slots are taken");
        }
        --free_;
    }

    void give_back() { ++free_; }
    int free() const { return free_; }

private:
    int free_;
};
