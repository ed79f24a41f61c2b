#include "catalogue.h"

#include <gtest/gtest.h>

#include <thread>

namespace {

template <typename Ask>
int loads_in_two_threads(Ask ask) {
    Catalogue catalogue;
    std::thread first([&] { ask(catalogue); });
    std::thread second([&] { ask(catalogue); });
    first.join();
    second.join();
    return catalogue.loads();
}

TEST(Catalogue, IsLoadedOnce) {
    EXPECT_EQ(loads_in_two_threads([](Catalogue& catalogue) { catalogue.title(); }), 1);
}

TEST(Catalogue, IsLoadedOnceByAFlag) {
    EXPECT_EQ(loads_in_two_threads([](Catalogue& catalogue) { catalogue.title_once(); }), 1);
}

}  // namespace
