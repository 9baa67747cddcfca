#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace driftsieve {

// For allocators: room that is about to be written need not be filled with zeros first.
struct LeavesUnfilled {
    template <class U>
    void construct(U* place) {
        ::new (static_cast<void*>(place)) U;
    }
    template <class U, class... Args>
    void construct(U* place, Args&&... args) {
        ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
    }
};

template <class T>
struct Unfilled : std::allocator<T>, LeavesUnfilled {
    template <class U>
    struct rebind {
        using other = Unfilled<U>;
    };
};
template <class T>
using Room = std::vector<T, Unfilled<T>>;

}  // namespace driftsieve
