#include <unistd.h>

#include "planner.h"

int current_shard() {
    constexpr int shards = 7;
    return static_cast<int>(getpid() % shards);
}
