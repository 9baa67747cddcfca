#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace driftsieve {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Rooms of whole large pages. Those that are given back are kept for the next that asks for as
// much: to get memory from the system costs several times what writing to it does, and who sums up
// file after file needs the same rooms again and again. At most kRooms are kept, the newest ones,
// and no more than kMostKept bytes of them, which the system may take when it runs short of memory.
template <std::size_t kMostRooms, std::size_t kMostPages>
class SpareRooms {
  public:
    static constexpr std::size_t kRooms = kMostRooms;
    static constexpr std::size_t kMostKept = kMostPages * kLargePage;

    // What is in it is anything. Several threads may ask at once.
    static void* get(std::size_t n_pages) {
        for (std::atomic<std::uintptr_t>& place : kept_) {
            std::uintptr_t kept = place.load();
            if (pages_of(kept) == n_pages && place.compare_exchange_strong(kept, 0))
                return room_of(kept);
        }
        return ::operator new(n_pages * kLargePage, std::align_val_t{kLargePage});
    }

    static void give_back(void* room, [[maybe_unused]] std::size_t n_pages) {
#ifdef MADV_FREE
        if (n_pages < kLargePage) {
            const std::size_t size = n_pages * kLargePage;
            const std::size_t lazy = std::min(size, kMostKept);
            madvise(room, lazy, MADV_FREE);
            if (lazy < size) madvise(static_cast<char*>(room) + lazy, size - lazy, MADV_DONTNEED);
            keep(reinterpret_cast<std::uintptr_t>(room) + n_pages);
            return;
        }
#endif
        let_go(room);
    }

    static void let_go(void* room) { ::operator delete(room, std::align_val_t{kLargePage}); }

    static std::size_t kept_pages() {
        std::size_t sum = 0;
        for (const std::atomic<std::uintptr_t>& place : kept_) sum += pages_of(place);
        return sum;
    }

  private:
    // The newest stands first. Of each its address, which leaves the lower bits free, and in them
    // its number of pages; 0: none.
    static inline std::array<std::atomic<std::uintptr_t>, kRooms> kept_{};

    static std::size_t pages_of(std::uintptr_t kept) { return kept % kLargePage; }
    static void* room_of(std::uintptr_t kept) {
        return reinterpret_cast<void*>(kept / kLargePage * kLargePage);
    }

    // Older ones move on, up to where there is none. What is too much then goes, the oldest first.
    static void keep(std::uintptr_t room) {
        for (std::size_t i = 0; i < kRooms && room != 0; ++i) room = kept_[i].exchange(room);
        let_go(room_of(room));
        std::size_t size = pages_of(kept_[0]) * kLargePage;
        for (std::size_t i = 1; i < kRooms; ++i) {
            size += pages_of(kept_[i]) * kLargePage;
            if (size > kMostKept) let_go(room_of(kept_[i].exchange(0)));
        }
    }
};

// For lists that grow, above all rows; and for what has its size from the start.
using SpareRoom = SpareRooms<8, 96>;
using SpareSmallRoom = SpareRooms<4, 16>;

}  // namespace driftsieve
