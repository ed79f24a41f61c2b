#pragma once

// From 1 to 6.
int roll();

// Plays until somebody rolls a five or a six, and says which player that was.
int play(int player, int& shuffles);
