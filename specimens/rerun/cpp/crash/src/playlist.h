#pragma once

#include <memory>
#include <string>

struct Song {
    std::string title;
    std::unique_ptr<Song> next;
};

class Playlist {
public:
    void add(const std::string& title);
    void drop_first() { first_ = std::move(first_->next); }
    bool empty() const { return first_ == nullptr; }
    const std::string& last() const;

private:
    std::unique_ptr<Song> first_;
};
