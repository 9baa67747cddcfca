#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "driftsieve/memory/large_room.hpp"

using namespace driftsieve;

TEST_CASE("a large room has whole large pages and begins with one") {
    CHECK(whole_pages(kLargePage - 1) == kLargePage - 1);
    CHECK(whole_pages(kLargePage) == kLargePage);
    CHECK(whole_pages(kLargePage + 1) == 2 * kLargePage);
    LargeRoom<double> room(kLargePage / sizeof(double) + 1);
    CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % kLargePage == 0);
}

TEST_CASE("a small room begins with a cache line") {
    for (std::size_t size = 1; size < 300; size += 7) {
        const LargeRoom<double> room(size);
        CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % 64 == 0);
    }
}

TEST_CASE("a room that grows past a large page keeps its values") {
    LargeRoom<std::size_t> room;
    for (std::size_t i = 0; i < kLargePage / 4; ++i) room.push_back(i);
    CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % kLargePage == 0);
    std::size_t n_kept = 0;
    for (std::size_t i = 0; i < room.size(); ++i) n_kept += room[i] == i;
    CHECK(n_kept == room.size());
    CHECK(bytes_in(room) == 2 * kLargePage);
}
