#include "download.h"

#include <random>

namespace {

bool line_is_cut() {
    static std::random_device device;
    return device() % 10 < 6;
}

}  // namespace

int download(Slots& slots) {
    for (int attempt = 1;; ++attempt) {
        slots.take();
        if (line_is_cut()) {
            continue;
        }
        slots.give_back();
        return attempt;
    }
}
