#include "catalogue.h"

std::string Catalogue::load() {
    ++loads_;
    return "Emma";
}

std::string Catalogue::title() {
    if (!loaded_) {
        const std::string title = load();
        const std::lock_guard<std::mutex> lock(mutex_);
        title_ = title;
        loaded_ = true;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return title_;
}

std::string Catalogue::title_once() {
    std::call_once(once_, [this] { title_ = load(); });
    return title_;
}
