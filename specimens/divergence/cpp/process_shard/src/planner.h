#pragma once

#include <string>
#include <vector>

struct Job {
    std::string name;
    int shards;  // So many of the first shards take it.
};

// The shard that this process is. Workers share the jobs without a word.
int current_shard();

std::vector<std::string> plan(const std::vector<Job>& jobs);
