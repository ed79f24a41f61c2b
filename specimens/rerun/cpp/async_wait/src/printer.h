#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

// Prints labels on a thread of its own, in the order in which they were handed in.
class Printer {
public:
    Printer();
    ~Printer();
    Printer(const Printer&) = delete;
    Printer& operator=(const Printer&) = delete;

    void print(const std::string& label);
    std::size_t printed() const;

private:
    void work();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> waiting_;
    std::size_t printed_ = 0;
    bool closed_ = false;
    std::thread thread_;
};

// What is sent to the device: one line of bars for each character.
std::string bars(const std::string& label);
