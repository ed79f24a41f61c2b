#include "lending.h"

#include <cstdio>
#include <cstdlib>

bool Library::lend(const std::string& title, const std::string& reader) {
    if (shelf_.erase(title) == 0) {
        return false;
    }
    lent_[title] = reader;
    return true;
}

void Library::give_back(const std::string& title) {
    if (lent_.erase(title) == 0) {
        std::fprintf(stderr, "not ours: %s\n", title.c_str());
        std::abort();
    }
    shelf_.insert(title);
}
