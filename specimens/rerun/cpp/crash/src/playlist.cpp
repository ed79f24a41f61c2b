#include "playlist.h"

void Playlist::add(const std::string& title) {
    std::unique_ptr<Song>* end = &first_;
    while (*end) {
        end = &(*end)->next;
    }
    *end = std::make_unique<Song>(Song{title, nullptr});
}

const std::string& Playlist::last() const {
    const Song* song = first_.get();
    while (song->next) {
        song = song->next.get();
    }
    return song->title;
}
