#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "driftsieve/parallel.hpp"

using namespace driftsieve;

TEST_CASE("every chunk is worked on once, whatever the number of threads") {
    for (const std::size_t n : {0, 1, 15, 16, 17, 1000})
        for (const unsigned n_threads : {0, 1, 2, 3, 8}) {
            std::vector<std::atomic<int>> visits(n);
            std::atomic<int> rooms = 0;
            parallel_work(n, 16, n_threads, [&] {
                ++rooms;
                return [&](std::size_t begin, std::size_t end) {
                    CHECK(begin % 16 == 0);
                    CHECK((end - begin == 16 || end == n));
                    for (std::size_t i = begin; i < end; ++i) ++visits[i];
                };
            });
            for (const std::atomic<int>& count : visits) CHECK(count == 1);
            CHECK(rooms >= 1);
            CHECK(rooms <= static_cast<int>(n_threads > 1 ? n_threads : 1));
        }
}

TEST_CASE("what one thread cannot do is done by the others, and said") {
    std::atomic<std::size_t> done = 0;
    const auto work = [&](std::size_t begin, std::size_t) {
        if (begin == 40) throw std::runtime_error("no");
        ++done;
    };
    CHECK_THROWS_WITH(parallel_chunks(100, 1, 2, work), "no");
    CHECK(done == 99);
}
