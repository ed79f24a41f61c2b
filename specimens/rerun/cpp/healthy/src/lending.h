#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

// Books that are on the shelf or lent to a reader.
class Library {
public:
    explicit Library(std::set<std::string> titles) : shelf_(std::move(titles)) {}

    bool lend(const std::string& title, const std::string& reader);

    // Ends the program if the book was not lent: somebody else's book is on our desk.
    void give_back(const std::string& title);

    std::size_t on_shelf() const { return shelf_.size(); }

private:
    std::set<std::string> shelf_;
    std::map<std::string, std::string> lent_;
};

// What a reader owes, in cents, and never more than ten euros.
template <typename Days>
int fee(Days late) {
    return late <= 0 ? 0 : late >= 50 ? 1000 : static_cast<int>(late * 20);
}
