#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "driftsieve/base/queue.hpp"

using driftsieve::Queue;

TEST_CASE("items taken from a queue stay valid while it grows") {
    Queue<int> queue;
    std::vector<std::shared_ptr<int[]>> taken;
    for (int i = 0; i < 1000; ++i) {
        for (int j = 0; j < 3; ++j) queue.push_back(3 * i + j);
        taken.push_back(queue.take(2));
    }
    CHECK(queue.size() == 1000);
    for (int i = 0; i < 2000; ++i) CHECK(taken[i / 2][i % 2] == i);
    for (int i = 0; i < 1000; ++i) CHECK(queue.begin()[i] == 2000 + i);
}

TEST_CASE("a queue that is emptied at a steady pace needs one array each time") {
    Queue<int> queue;
    for (int round = 0; round < 3; ++round) {
        const int* const first = queue.reserve(1);
        for (int i = 0; i < 1000; ++i) queue.push_back(i);
        CHECK((queue.begin() == first) == (round > 0));
        queue.take(1000);
        CHECK(queue.size() == 0);
    }
}
