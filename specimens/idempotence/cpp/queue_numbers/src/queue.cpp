#include "queue.h"

namespace {

constexpr int kSecondsPerPerson = 90;
int last_number = 0;

}  // namespace

int draw_number() {
    return ++last_number;
}

int seconds_to_wait(int people) {
    return people * kSecondsPerPerson;
}
