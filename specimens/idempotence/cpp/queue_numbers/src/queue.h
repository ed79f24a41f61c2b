#pragma once

// Draws the next number for a person who waits.
int draw_number();

int seconds_to_wait(int people);
