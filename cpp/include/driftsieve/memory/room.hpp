#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace driftsieve {

// For allocators: does not fill memory with zeros that is about to be written.
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

// Resizes without initialization. A vector grows by doubling and keeps its capacity; here spare
// capacity above `part` of the size is released.
template <class T>
void take_size(Room<T>& room, std::size_t size, std::size_t part) {
    if (room.capacity() < size || room.capacity() > size + size / part) {
        room = Room<T>();
        room.reserve(size);
    }
    room.resize(size);
}

}  // namespace driftsieve
