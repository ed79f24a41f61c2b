#include "drawing.h"

const Shape page{"page"};
const Shape grid{"grid"};
const Shape ruler{"ruler"};

const Shape* Drawing::add(const std::string& name) {
    shapes_.push_back({name});
    return &shapes_.back();
}

std::string Drawing::selection() const {
    std::string names;
    for (const Shape* shape : selected_) {
        names += names.empty() ? shape->name : ", " + shape->name;
    }
    return names;
}
