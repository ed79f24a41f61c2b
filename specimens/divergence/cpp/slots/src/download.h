#pragma once

#include "slots.h"

// Tries until it has the file, and says how often it tried.
int download(Slots& slots);
