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

// Size of the memory for that many bytes, in whole large pages.
constexpr std::size_t whole_pages(std::size_t size) {
    return size < kLargePage ? size : (size + kLargePage - 1) / kLargePage * kLargePage;
}

// An allocator of memory that begins at a cache line and is not filled with zeros. Large memory
// comes from released buffers, Spare::get, and is returned there.
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

// Memory of fixed size that is needed in the same size again and again.
template <class T>
using KeptRoom = std::vector<T, SparePages<T, SpareSmallRoom>>;

// Memory for a list that grows, such as a block of rows. If it is large, the system is asked for
// large pages, because the rows are read column by column, each from another page. Pages that are
// never written to take no memory.
struct GrowingRoom {
    static void* get(std::size_t n_pages) {
        got_ = n_pages;
        void* room = SpareRoom::get(n_pages);
#ifdef __linux__
        madvise(room, n_pages * kLargePage, MADV_HUGEPAGE);  // the system may ignore the advice
#endif
        return room;
    }
    static void give_back(void* room, std::size_t n_pages) {
        if (n_pages < got_)  // the list has moved to larger memory
            SpareRoom::release(room);
        else
            SpareRoom::give_back(room, n_pages);
    }

  private:
    static inline thread_local std::size_t got_ = 0;  // pages of the last request
};
template <class T>
using LargeRoom = std::vector<T, SparePages<T, GrowingRoom>>;

// Size of the items; reserved memory beyond them takes nothing.
template <class T>
std::size_t bytes_in(const LargeRoom<T>& room) {
    return whole_pages(room.size() * sizeof(T));
}

}  // namespace driftsieve
