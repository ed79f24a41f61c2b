import random

ROADS = {
    "depot": ["north", "south"],
    "north": ["depot", "harbour", "harbour"],
    "south": ["depot", "harbour"],
    "harbour": ["north", "south"],
}


def route(start, goal):
    """The places on the way, the goal included."""
    place = start
    while place != goal:
        place = random.choice(ROADS[place])
        yield place
