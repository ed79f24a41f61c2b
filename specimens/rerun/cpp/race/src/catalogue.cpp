#include "catalogue.h"

#include <algorithm>

bool Catalogue::contains(const std::string& title) {
    if (!loaded_) {
        load();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::binary_search(titles_.begin(), titles_.end(), title);
}

void Catalogue::load() {
    std::vector<std::string> titles = loader_();
    std::sort(titles.begin(), titles.end());
    const std::lock_guard<std::mutex> lock(mutex_);
    titles_ = std::move(titles);
    loaded_ = true;
}
