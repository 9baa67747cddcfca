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

// Buffers of whole large pages. Released buffers are kept for later requests of the same size:
// getting memory from the system takes several times as long as writing to it, and processing one
// file after another needs the same buffers again and again. At most kRooms buffers are kept, the
// newest ones, and at most kMostKept bytes of them, which the system may reclaim when it runs short
// of memory.
template <std::size_t kMostRooms, std::size_t kMostPages>
class SpareRooms {
  public:
    static constexpr std::size_t kRooms = kMostRooms;
    static constexpr std::size_t kMostKept = kMostPages * kLargePage;

    // The content is unspecified. Several threads may call it at once.
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
        release(room);
    }

    static void release(void* room) { ::operator delete(room, std::align_val_t{kLargePage}); }

    static std::size_t kept_pages() {
        std::size_t sum = 0;
        for (const std::atomic<std::uintptr_t>& place : kept_) sum += pages_of(place);
        return sum;
    }

  private:
    // The newest one first: its address, whose lower bits are free, and in them its number of
    // pages; 0 means none.
    static inline std::array<std::atomic<std::uintptr_t>, kRooms> kept_{};

    static std::size_t pages_of(std::uintptr_t kept) { return kept % kLargePage; }
    static void* room_of(std::uintptr_t kept) {
        return reinterpret_cast<void*>(kept / kLargePage * kLargePage);
    }

    // Older ones move by one place, up to the first free place. The oldest ones beyond the limit
    // are released.
    static void keep(std::uintptr_t room) {
        for (std::size_t i = 0; i < kRooms && room != 0; ++i) room = kept_[i].exchange(room);
        release(room_of(room));
        std::size_t size = pages_of(kept_[0]) * kLargePage;
        for (std::size_t i = 1; i < kRooms; ++i) {
            size += pages_of(kept_[i]) * kLargePage;
            if (size > kMostKept) release(room_of(kept_[i].exchange(0)));
        }
    }
};

// For lists that grow, above all rows; and for buffers of fixed size.
using SpareRoom = SpareRooms<8, 96>;
using SpareSmallRoom = SpareRooms<4, 16>;

}  // namespace driftsieve
