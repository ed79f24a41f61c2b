#include "catalogue.h"

#include <gtest/gtest.h>

#include <thread>

namespace {

std::vector<std::string> titles() {
    std::vector<std::string> titles = {"Ulysses", "Emma", "Faust", "Candide"};
    for (int volume = 1; volume <= 400; ++volume) {
        titles.push_back("Encyclopaedia, volume " + std::to_string(volume));
    }
    return titles;
}

TEST(Catalogue, IsLoadedOnce) {
    std::atomic<int> loads{0};
    Catalogue catalogue([&] {
        ++loads;
        return titles();
    });
    std::thread reader([&] { catalogue.contains("Emma"); });
    std::thread another([&] { catalogue.contains("Faust"); });
    reader.join();
    another.join();
    EXPECT_EQ(loads, 1);
}

TEST(Catalogue, IsNotLoadedBeforeSomebodyAsks) {
    EXPECT_FALSE(Catalogue(titles).loaded());
}

TEST(Catalogue, ContainsWhatWasLoaded) {
    EXPECT_TRUE(Catalogue(titles).contains("Ulysses"));
}

TEST(Catalogue, DoesNotContainAnythingElse) {
    EXPECT_FALSE(Catalogue(titles).contains("Hamlet"));
}

}  // namespace
