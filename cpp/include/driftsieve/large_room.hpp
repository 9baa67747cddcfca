#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "driftsieve/room.hpp"
#include "driftsieve/spare_room.hpp"

namespace driftsieve {

// What room of that many bytes takes: a part of a large page is none.
constexpr std::size_t whole_pages(std::size_t size) {
    return size < kLargePage ? size : (size + kLargePage - 1) / kLargePage * kLargePage;
}

// Room for a block of rows: begins with a cache line, and where it is large the system is asked for
// large pages, since the rows are read column by column, each from another page. It is not filled
// with zeros: what is never written to takes no memory.
template <class T>
struct LargePages : LeavesUnfilled {
    using value_type = T;
    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t size = whole_pages(n * sizeof(T));
        if (size < kLargePage) return static_cast<T*>(::operator new(size, kCacheLine));
        void* room = SpareRoom::get(size / kLargePage);
#ifdef __linux__
        madvise(room, size, MADV_HUGEPAGE);  // no harm where it is refused
#endif
        return static_cast<T*>(room);
    }
    void deallocate(T* room, std::size_t n) {
        const std::size_t size = whole_pages(n * sizeof(T));
        if (size < kLargePage)
            ::operator delete(room, kCacheLine);
        else
            SpareRoom::give_back(room, size / kLargePage);
    }
    template <class U>
    bool operator==(const LargePages<U>&) const {
        return true;
    }

  private:
    static constexpr std::align_val_t kCacheLine{64};
};
template <class T>
using LargeRoom = std::vector<T, LargePages<T>>;

// What the items there are take; room that is not reached takes nothing.
template <class T>
std::size_t bytes_in(const LargeRoom<T>& room) {
    return whole_pages(room.size() * sizeof(T));
}

}  // namespace driftsieve
