#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "driftsieve/fresh_pages.hpp"
#include "driftsieve/large_room.hpp"

using namespace driftsieve;

TEST_CASE("a large room has whole large pages and begins with one") {
    CHECK(whole_pages(kLargePage - 1) == kLargePage - 1);
    CHECK(whole_pages(kLargePage) == kLargePage);
    CHECK(whole_pages(kLargePage + 1) == 2 * kLargePage);
    LargeRoom<double> room(kLargePage / sizeof(double) + 1);
    CHECK(reinterpret_cast<std::uintptr_t>(room.data()) % kLargePage == 0);
}

TEST_CASE("getting pages changes nothing that was written, wherever the room lies") {
    constexpr std::size_t page = kLargePage / sizeof(double);
    for (const std::size_t n : {std::size_t{1}, page - 1, page, 3 * page + 5}) {
        LargeRoom<double> room;
        FreshPages pages;
        for (const std::size_t size : {n, 2 * n}) {  // the second time it is another room
            room.reserve(size);
            while (room.size() < size) {
                pages.get(room, room.size() + 1);
                room.push_back(static_cast<double>(room.size()));
            }
        }
        FreshPages anew;
        anew.get(room, room.size());
        for (std::size_t i = 0; i < room.size(); ++i) REQUIRE(room[i] == static_cast<double>(i));
    }
}
