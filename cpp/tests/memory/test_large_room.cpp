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
