#include <random>

#include "game.h"

int roll() {
    static std::random_device device;
    return static_cast<int>(device() % 6) + 1;
}
