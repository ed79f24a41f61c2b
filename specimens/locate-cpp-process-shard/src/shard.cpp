#include <unistd.h>

#include "planner.h"

int current_shard() {
    constexpr int shards = 3;
    return static_cast<int>(getpid() % shards);
}
