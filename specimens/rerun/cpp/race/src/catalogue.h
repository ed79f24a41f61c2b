#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

// Titles that take a while to load, and are loaded when they are first asked for.
class Catalogue {
public:
    using Loader = std::function<std::vector<std::string>()>;

    explicit Catalogue(Loader loader) : loader_(std::move(loader)) {}

    bool contains(const std::string& title);
    bool loaded() const { return loaded_; }

private:
    void load();

    Loader loader_;
    std::atomic<bool> loaded_{false};
    std::mutex mutex_;
    std::vector<std::string> titles_;
};
