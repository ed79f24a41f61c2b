#pragma once

#include <stdexcept>
#include <string>
#include <vector>

// The cents in a text such as 9.90. Throws std::invalid_argument.
int cents(const std::string& text);

// A stack of the prices that were typed in, the last on top.
template <typename Number>
class Tape {
public:
    void push(Number number) { numbers_.push_back(number); }
    Number total() const {
        int sum = 0;
        for (Number number : numbers_) {
            sum += number;
        }
        return sum;
    }
    bool empty() const { return numbers_.empty(); }

private:
    std::vector<Number> numbers_;
};
