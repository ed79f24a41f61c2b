#include "printer.h"

Printer::Printer() : thread_([this] { work(); }) {}

Printer::~Printer() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Printer::print(const std::string& label) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        waiting_.push_back(label);
    }
    changed_.notify_one();
}

std::size_t Printer::printed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return printed_;
}

void Printer::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
        if (waiting_.empty()) {
            return;
        }
        const std::string label = waiting_.front();
        waiting_.pop_front();
        lock.unlock();
        const bool empty = bars(label).empty();
        lock.lock();
        printed_ += empty ? 0 : 1;
    }
}

std::string bars(const std::string& label) {
    std::string lines;
    for (const char character : label) {
        for (int bit = 0; bit < 8; ++bit) {
            lines += (character >> bit) % 2 == 0 ? ' ' : '|';
        }
        lines += '\n';
    }
    return lines;
}
