#pragma once

// What it costs to ship so many kilograms, in cents.
int shipping(int kilograms);

// The least that is asked for.
int minimum();
