#include "game.h"

int play(int player, int& shuffles) {
    for (int turns = roll(); turns > 0; --turns) {
        ++shuffles;
    }
    for (;;) {
        const int rolled = roll();
        if (rolled >= 5) {
            return player;
        }
        player = 1 - player;
    }
}
