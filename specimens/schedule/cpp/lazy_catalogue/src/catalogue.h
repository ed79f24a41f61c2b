#pragma once

#include <atomic>
#include <mutex>
#include <string>

// A title that is loaded when it is first asked for.
class Catalogue {
public:
    // Checks and loads in two steps.
    std::string title();
    std::string title_once();
    int loads() const { return loads_; }

private:
    std::string load();

    std::atomic<bool> loaded_{false};
    std::atomic<int> loads_{0};
    std::once_flag once_;
    std::mutex mutex_;
    std::string title_;
};
