#include "drawing.h"

#include <gtest/gtest.h>

namespace {

TEST(Selection, NamesAreJoined) {
    Drawing drawing;
    for (const Shape* shape : {&page, &grid, &ruler}) {
        drawing.select(shape);
    }
    for (const char* name : {"circle", "square", "star"}) {
        drawing.select(drawing.add(name));
    }
    EXPECT_EQ(drawing.selection(), "star, square, circle, ruler, grid, page");
}

TEST(Selection, IsEmptyAtFirst) {
    Drawing drawing;
    drawing.add("circle");
    EXPECT_EQ(drawing.selection(), "");
}

TEST(Selection, ASingleNameStandsAlone) {
    Drawing drawing;
    drawing.select(drawing.add("circle"));
    EXPECT_EQ(drawing.selection(), "circle");
}

TEST(Selection, CanBeTakenBack) {
    Drawing drawing;
    const Shape* circle = drawing.add("circle");
    drawing.select(circle);
    drawing.unselect(circle);
    EXPECT_EQ(drawing.selection(), "");
}

}  // namespace
