#pragma once

#include <cstddef>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace driftsieve::bind {

// An allocator that asks for huge pages where there is much to hold. Columns are gathered from rows
// that lie kilobytes apart: with small pages, nearly every access would first have to find its
// page.
template <class T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t kPage = std::size_t{1} << 21;

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
        void* data = ::operator new(bytes, alignment(bytes));
#if defined(__linux__)
        if (bytes >= kPage) madvise(data, bytes / kPage * kPage, MADV_HUGEPAGE);  // or else not
#endif
        return static_cast<T*>(data);
    }
    void deallocate(T* data, std::size_t n) { ::operator delete(data, alignment(n * sizeof(T))); }

    template <class U>
    bool operator==(const HugePages<U>&) const {
        return true;
    }

  private:
    static std::align_val_t alignment(std::size_t bytes) {
        return std::align_val_t{bytes >= kPage ? kPage : 64};
    }
};

}  // namespace driftsieve::bind
