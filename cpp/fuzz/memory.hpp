// Counts the allocations of a parser, which must stay within a stated multiple of its input.
#pragma once

#include <sanitizer/allocator_interface.h>

#include <cstddef>

namespace fuzz {

inline std::size_t live = 0;
inline std::size_t peak = 0;

inline void count_allocated(const volatile void*, std::size_t size) {
    live += size;
    if (live > peak) peak = live;
}

inline void count_freed(const volatile void* place) {
    live -= __sanitizer_get_allocated_size(place);
}

inline const int hooks = __sanitizer_install_malloc_and_free_hooks(count_allocated, count_freed);

// Largest number of bytes in use since this object was made, beyond those in use then.
class Memory {
  public:
    Memory() : before_(live) { peak = live; }
    void expect_at_most(std::size_t bytes) const {
        if (peak - before_ > bytes) __builtin_trap();
    }

  private:
    std::size_t before_;
};

}  // namespace fuzz
