#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/require.hpp"

// The lists of a page of sparse columns. Their capacity is a power of 2, so that it is known
// without them.
namespace driftsieve {

// Capacity for n items.
inline std::size_t capacity_for(std::size_t n) {
    return n == 0 ? 0 : std::bit_ceil(n);
}

template <class Items>
void make_room(Items& items, std::size_t n_more = 1) {
    if (items.size() + n_more > items.capacity())
        items.reserve(capacity_for(items.size() + n_more));
}

template <class Items>
void drop_spare_room(Items& items) {
    if (items.capacity() <= capacity_for(items.size())) return;
    Items kept;
    if (!items.empty()) kept.reserve(capacity_for(items.size()));
    kept.assign(items.begin(), items.end());
    items.swap(kept);
}

// Number of columns that have occurred; slots count from 1.
inline std::size_t count_slots(std::span<const std::uint8_t> slots) {
    return slots.size() - static_cast<std::size_t>(std::count(slots.begin(), slots.end(), 0));
}

// Validates deserialized slots: each of `n_slots` is that of one column.
inline void check_slots(std::span<const std::uint8_t> slots, std::size_t n_slots) {
    std::vector<bool> taken(n_slots + 1);
    for (const std::uint8_t slot : slots) {
        require(slot <= n_slots && (slot == 0 || !taken[slot]));
        taken[slot] = true;
    }
}

}  // namespace driftsieve
