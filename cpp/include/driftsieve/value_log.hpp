#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace driftsieve {

// A value of a sparse feature on its way to that feature.
struct LoggedValue {
    std::uint32_t slot;
    std::uint32_t cls;
    double value;
    double weight;
};

// Stable radix sort by slot: within a slot, values keep the order of their rows.
inline void sort_by_slot(std::vector<LoggedValue>& log, std::vector<LoggedValue>& scratch) {
    constexpr unsigned kBits = 11;
    constexpr std::size_t kBuckets = std::size_t{1} << kBits;
    std::uint32_t largest = 0;
    for (const LoggedValue& item : log) largest = std::max(largest, item.slot);
    scratch.resize(log.size());
    for (unsigned shift = 0; shift < 32 && (largest >> shift) != 0; shift += kBits) {
        std::array<std::size_t, kBuckets> place{};
        for (const LoggedValue& item : log) ++place[(item.slot >> shift) % kBuckets];
        std::size_t sum = 0;
        for (std::size_t& count : place) {
            const std::size_t here = count;
            count = sum;
            sum += here;
        }
        for (const LoggedValue& item : log)
            scratch[place[(item.slot >> shift) % kBuckets]++] = item;
        log.swap(scratch);
    }
}

// The values of a log by slot.
struct SortedLog {
    std::vector<LoggedValue> items;
    std::vector<std::uint32_t> begin;  // where each slot begins, and the end

    SortedLog() = default;
    SortedLog(std::span<const LoggedValue> log, std::size_t n_slots)
        : items(log.begin(), log.end()), begin(n_slots + 1, 0) {
        std::vector<LoggedValue> scratch;
        sort_by_slot(items, scratch);
        for (const LoggedValue& item : items) ++begin[item.slot + 1];
        for (std::size_t slot = 0; slot < n_slots; ++slot) begin[slot + 1] += begin[slot];
    }

    std::span<const LoggedValue> of(std::size_t slot) const {
        return {items.data() + begin[slot], items.data() + begin[slot + 1]};
    }
};

}  // namespace driftsieve
