#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "driftsieve/spare_room.hpp"

using namespace driftsieve;

namespace {

void fill(void* room, std::size_t n_pages, char with) {
    for (std::size_t i = 0; i < n_pages * kLargePage; i += 4096) static_cast<char*>(room)[i] = with;
}

bool holds(const void* room, std::size_t n_pages, char what) {
    for (std::size_t i = 0; i < n_pages * kLargePage; i += 4096)
        if (static_cast<const char*>(room)[i] != what) return false;
    return true;
}

}  // namespace

#ifdef __linux__
TEST_CASE("the room that was given back last is got again by who asks for as much") {
    void* first = SpareRoom::get(2);
    void* second = SpareRoom::get(3);
    fill(first, 2, 1);
    fill(second, 3, 2);
    SpareRoom::give_back(first, 2);
    void* other = SpareRoom::get(3);
    CHECK(other != first);
    void* same = SpareRoom::get(2);
    CHECK(same == first);
    SpareRoom::give_back(same, 2);
    SpareRoom::give_back(second, 3);  // takes its place
    CHECK(SpareRoom::get(3) == second);
    SpareRoom::give_back(second, 3);
    SpareRoom::give_back(other, 3);
}
#endif

TEST_CASE("nobody gets room that another one has") {
    const auto work = [](char name) {
        for (int i = 0; i < 200; ++i) {
            const std::size_t n_pages = 1 + static_cast<std::size_t>(i % 3);
            void* room = SpareRoom::get(n_pages);
            CHECK(reinterpret_cast<std::uintptr_t>(room) % kLargePage == 0);
            fill(room, n_pages, name);
            std::this_thread::yield();
            CHECK(holds(room, n_pages, name));
            SpareRoom::give_back(room, n_pages);
        }
    };
    std::vector<std::jthread> threads;
    for (const char name : {1, 2, 3}) threads.emplace_back(work, name);
}
