#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

// Lines that a thread writes out, all at once at full periods.
class Logbook {
public:
    Logbook();
    ~Logbook();
    Logbook(const Logbook&) = delete;
    Logbook& operator=(const Logbook&) = delete;

    void add();
    int written() const;

private:
    void work();

    mutable std::mutex mutex_;
    std::condition_variable closing_;
    int waiting_ = 0;
    int written_ = 0;
    bool closed_ = false;
    std::thread thread_;
};
