#include "logbook.h"

#include <chrono>

using std::chrono::milliseconds;

namespace {
constexpr int period = 40;
}

Logbook::Logbook() : thread_([this] { work(); }) {}

Logbook::~Logbook() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
    }
    closing_.notify_one();
    thread_.join();
}

void Logbook::add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++waiting_;
}

int Logbook::written() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return written_;
}

void Logbook::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        const auto now = std::chrono::duration_cast<milliseconds>(since);
        if (closing_.wait_for(lock, milliseconds(period - now.count() % period), [this] { return closed_; })) {
            return;
        }
        written_ += waiting_;
        waiting_ = 0;
    }
}
