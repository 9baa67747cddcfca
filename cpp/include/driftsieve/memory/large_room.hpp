#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "driftsieve/memory/room.hpp"

namespace driftsieve {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Size of the memory for that many bytes, in whole large pages.
constexpr std::size_t whole_pages(std::size_t size) {
    return size < kLargePage ? size : (size + kLargePage - 1) / kLargePage * kLargePage;
}

// An allocator of memory that begins at a cache line and is not filled with zeros. If it is large,
// the system is asked for large pages, because rows are read column by column, each from another
// page. Pages that are never written to take no memory.
template <class T>
struct LargePages : LeavesUnfilled {
    using value_type = T;
    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t size = whole_pages(n * sizeof(T));
        void* room = ::operator new(size, alignment(size));
#ifdef __linux__
        if (size >= kLargePage) madvise(room, size, MADV_HUGEPAGE);  // the system may ignore it
#endif
        return static_cast<T*>(room);
    }
    void deallocate(T* room, std::size_t n) {
        ::operator delete(room, alignment(whole_pages(n * sizeof(T))));
    }
    template <class U>
    bool operator==(const LargePages<U>&) const {
        return true;
    }

  private:
    static std::align_val_t alignment(std::size_t size) {
        return std::align_val_t{size < kLargePage ? 64 : kLargePage};
    }
};
template <class T>
using LargeRoom = std::vector<T, LargePages<T>>;

// Size of the items; reserved memory beyond them takes nothing.
template <class T>
std::size_t bytes_in(const LargeRoom<T>& room) {
    return whole_pages(room.size() * sizeof(T));
}

}  // namespace driftsieve
