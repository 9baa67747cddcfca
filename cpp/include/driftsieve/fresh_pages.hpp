#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "driftsieve/large_room.hpp"

#ifdef __linux__
#include <sys/mman.h>
#include <time.h>
#endif

namespace driftsieve {

// Gets the memory of a room that the system was asked to give large pages, page by page before it
// is written to. A large page costs a fifth of what as many small ones do, but twenty times more
// where the host of a virtual machine has to find the memory first, while small ones come from
// what the machine has at hand. So after two dear pages the rest of the room gets small ones. If
// they are as dear, large ones are got again: reading rows from them takes less time.
class FreshPages {
  public:
    // The first `reach` values of a room are about to be written to.
    template <class T>
    void get([[maybe_unused]] LargeRoom<T>& room, [[maybe_unused]] std::size_t reach) {
#ifdef MADV_POPULATE_WRITE
        const std::size_t size = whole_pages(room.capacity() * sizeof(T));
        if (size < kLargePage) return;
        if (room.data() != room_) {
            room_ = room.data();
            ready_ = 0;
            dear_ = 0;
            turns_ = 0;
        }
        for (; ready_ < reach * sizeof(T); ready_ += kLargePage) {
            char* const page = reinterpret_cast<char*>(room.data()) + ready_;
            if (is_there(page)) continue;  // somebody had the room before: see SpareRoom
            const std::int64_t begin = now();
            madvise(page, kLargePage, MADV_POPULATE_WRITE);  // no harm where it is refused
            dear_ = now() - begin > kDear ? dear_ + 1 : 0;
            // what is there may become large as time goes by
            if (turns_ == 1) madvise(page, kLargePage, MADV_HUGEPAGE);
            if (dear_ < 2 || turns_ == 2) continue;
            dear_ = 0;
            madvise(page + kLargePage, size - ready_ - kLargePage,
                    turns_++ == 0 ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
        }
#endif
    }

#ifdef MADV_POPULATE_WRITE
  private:
    static constexpr std::int64_t kDear = 2'500'000;  // nanoseconds; small pages take half of it

    static constexpr std::size_t kSmallPage = 4096;  // or more

    const void* room_ = nullptr;
    std::size_t ready_ = 0;  // bytes
    int dear_ = 0;           // pages, one after the other
    int turns_ = 0;          // 1: the rest of the room gets small pages

    static bool is_there(void* page) {
        std::array<unsigned char, kLargePage / kSmallPage> small;
        small.fill(1);
        return mincore(page, kLargePage, small.data()) == 0 &&
               std::all_of(small.begin(), small.end(), [](auto bits) { return bits % 2 == 1; });
    }

    static std::int64_t now() {  // of this thread: others may have the processor meanwhile
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
    }
#endif
};

}  // namespace driftsieve
