#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "driftsieve/memory/large_room.hpp"
#include "driftsieve/memory/spare_room.hpp"

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
TEST_CASE("released buffers are used again for requests of the same size") {
    void* second = SpareRoom::get(3);
    void* first = SpareRoom::get(2);
    fill(first, 2, 1);
    fill(second, 3, 2);
    SpareRoom::give_back(first, 2);
    void* other = SpareRoom::get(3);
    CHECK(other != first);
    SpareRoom::give_back(second, 3);
    void* same = SpareRoom::get(2);
    CHECK(same == first);
    CHECK(SpareRoom::get(3) == second);
    SpareRoom::give_back(same, 2);
    SpareRoom::give_back(second, 3);
    SpareRoom::give_back(other, 3);
    CHECK(SpareRoom::get(3) == other);  // the newest
    SpareRoom::give_back(other, 3);
}

TEST_CASE("a room that was outgrown is not kept") {
    void* small = GrowingRoom::get(4);
    const std::size_t kept = SpareRoom::kept_pages();
    void* large = GrowingRoom::get(5);
    GrowingRoom::give_back(small, 4);
    CHECK(SpareRoom::kept_pages() == kept);
    GrowingRoom::give_back(large, 5);
    CHECK(SpareRoom::kept_pages() == kept + 5);
}

TEST_CASE("buffers with their final size are kept, and do not displace those of rows") {
    void* rows = GrowingRoom::get(6);
    GrowingRoom::give_back(rows, 6);
    const std::size_t kept = SpareRoom::kept_pages();
    const auto address = [](std::size_t n_pages) {
        return KeptRoom<char>(n_pages * kLargePage).data();
    };
    const char* first = address(2);
    const char* second = address(3);
    CHECK(address(2) == first);
    CHECK(address(3) == second);
    CHECK(SpareRoom::kept_pages() == kept);
    CHECK(SpareSmallRoom::kept_pages() >= 5);
}

TEST_CASE("no more than so many rooms are kept, of so many pages, and the oldest go first") {
    constexpr std::size_t most = SpareRoom::kMostKept / kLargePage;
    for (const std::size_t n_pages : {most / SpareRoom::kRooms / 2, most / 3, most / 2, most + 1}) {
        std::vector<void*> rooms;
        for (std::size_t i = 0; i < SpareRoom::kRooms + 2; ++i)
            rooms.push_back(SpareRoom::get(n_pages));
        for (void* room : rooms) SpareRoom::give_back(room, n_pages);
        const std::size_t kept = std::clamp<std::size_t>(most / n_pages, 1, SpareRoom::kRooms);
        CHECK(SpareRoom::kept_pages() == kept * n_pages);
        for (std::size_t i = 0; i < kept; ++i) {
            CHECK(SpareRoom::get(n_pages) == rooms.back());
            ::operator delete(rooms.back(), std::align_val_t{kLargePage});
            rooms.pop_back();
        }
        CHECK(SpareRoom::kept_pages() == 0);
    }
}
#endif

TEST_CASE("a buffer in use is never given to another caller") {
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
