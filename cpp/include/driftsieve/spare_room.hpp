#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace driftsieve {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Rooms of whole large pages. One that is given back is kept for the next that asks for as much:
// to get memory from the system costs several times what writing to it does, and who sums up file
// after file needs the same room again and again. At most one room is kept, and no more than
// kMostKept bytes of it, which the system may take when it runs short of memory.
class SpareRoom {
  public:
    static constexpr std::size_t kMostKept = 64 * kLargePage;

    // What is in it is anything. Several threads may ask at once.
    static void* get(std::size_t n_pages) {
        std::uintptr_t kept = kept_.load();
        if (kept % kLargePage == n_pages && kept_.compare_exchange_strong(kept, 0))
            return room_of(kept);
        return ::operator new(n_pages * kLargePage, std::align_val_t{kLargePage});
    }

    static void give_back(void* room, [[maybe_unused]] std::size_t n_pages) {
#ifdef MADV_FREE
        if (n_pages < kLargePage) {
            const std::size_t size = n_pages * kLargePage;
            const std::size_t lazy = std::min(size, kMostKept);
            madvise(room, lazy, MADV_FREE);
            if (lazy < size) madvise(static_cast<char*>(room) + lazy, size - lazy, MADV_DONTNEED);
            room = room_of(kept_.exchange(reinterpret_cast<std::uintptr_t>(room) + n_pages));
        }
#endif
        ::operator delete(room, std::align_val_t{kLargePage});
    }

  private:
    // Its address, which leaves the lower bits free, and in them its number of pages; 0: none.
    static inline std::atomic<std::uintptr_t> kept_{0};

    static void* room_of(std::uintptr_t kept) {
        return reinterpret_cast<void*>(kept / kLargePage * kLargePage);
    }
};

}  // namespace driftsieve
