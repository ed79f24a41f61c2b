#pragma once

#include <deque>
#include <string>
#include <unordered_set>

struct Shape {
    std::string name;
};

// Shapes that are in every drawing.
extern const Shape page;
extern const Shape grid;
extern const Shape ruler;

class Drawing {
public:
    const Shape* add(const std::string& name);
    void select(const Shape* shape) { selected_.insert(shape); }
    void unselect(const Shape* shape) { selected_.erase(shape); }

    // The names of the selected shapes, for the title bar.
    std::string selection() const;

private:
    std::deque<Shape> shapes_;
    std::unordered_set<const Shape*> selected_;
};
