#include "playlist.h"

#include <gtest/gtest.h>

namespace {

TEST(Playlist, IsEmptyAtFirst) {
    EXPECT_TRUE(Playlist().empty());
}

TEST(Playlist, HasALastSong) {
    Playlist playlist;
    playlist.add("Yesterday");
    playlist.add("Help");
    EXPECT_EQ(playlist.last(), "Help");
}

TEST(Playlist, TheLastSongOfNoneIsNoSong) {
    EXPECT_EQ(Playlist().last(), "");
}

TEST(Playlist, SongsCanBeDropped) {
    Playlist playlist;
    playlist.add("Yesterday");
    playlist.drop_first();
    EXPECT_TRUE(playlist.empty());
}

}  // namespace
