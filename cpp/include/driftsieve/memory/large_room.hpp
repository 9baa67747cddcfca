#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "driftsieve/memory/room.hpp"
#include "driftsieve/memory/spare_room.hpp"

namespace driftsieve {

// What room of that many bytes takes: a part of a large page is none.
constexpr std::size_t whole_pages(std::size_t size) {
    return size < kLargePage ? size : (size + kLargePage - 1) / kLargePage * kLargePage;
}

// Room that begins with a cache line and is not filled with zeros. Where it is large, it comes from
// what others have given back, Spare::get, and goes back there.
template <class T, class Spare>
struct SparePages : LeavesUnfilled {
    using value_type = T;
    SparePages() = default;
    template <class U>
    SparePages(const SparePages<U, Spare>&) {}

    T* allocate(std::size_t n) {
        const std::size_t size = whole_pages(n * sizeof(T));
        return static_cast<T*>(size < kLargePage ? ::operator new(size, kCacheLine)
                                                 : Spare::get(size / kLargePage));
    }
    void deallocate(T* room, std::size_t n) {
        const std::size_t size = whole_pages(n * sizeof(T));
        if (size < kLargePage)
            ::operator delete(room, kCacheLine);
        else
            Spare::give_back(room, size / kLargePage);
    }
    template <class U>
    bool operator==(const SparePages<U, Spare>&) const {
        return true;
    }

  private:
    static constexpr std::align_val_t kCacheLine{64};
};

// Room for what has its size from the start and is needed in the same size again and again.
template <class T>
using KeptRoom = std::vector<T, SparePages<T, SpareSmallRoom>>;

// Room for a list that grows, such as a block of rows: where it is large the system is asked for
// large pages, since the rows are read column by column, each from another page. What is never
// written to takes no memory.
struct GrowingRoom {
    static void* get(std::size_t n_pages) {
        got_ = n_pages;
        void* room = SpareRoom::get(n_pages);
#ifdef __linux__
        madvise(room, n_pages * kLargePage, MADV_HUGEPAGE);  // no harm where it is refused
#endif
        return room;
    }
    static void give_back(void* room, std::size_t n_pages) {
        if (n_pages < got_)  // the list has moved to a larger one
            SpareRoom::let_go(room);
        else
            SpareRoom::give_back(room, n_pages);
    }

  private:
    static inline thread_local std::size_t got_ = 0;  // pages, the last time
};
template <class T>
using LargeRoom = std::vector<T, SparePages<T, GrowingRoom>>;

// What the items there are take; room that is not reached takes nothing.
template <class T>
std::size_t bytes_in(const LargeRoom<T>& room) {
    return whole_pages(room.size() * sizeof(T));
}

}  // namespace driftsieve
