#pragma once

// What a kilogram costs, in cents.
extern const int kilogram_rate;

int rate_in(int year);
