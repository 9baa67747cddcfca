#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/large_room.hpp"

namespace driftsieve {

// A value of a sparse feature on its way to that feature.
struct LoggedValue {
    std::uint32_t slot;
    std::uint32_t cls;
    double value;
    double weight;
};

// Stable radix sort by slot: within a slot, values keep the order of their rows. Both the log and
// the scratch are written to; the result is in one of them.
inline std::span<LoggedValue> sorted_by_slot(std::span<LoggedValue> log,
                                             LargeRoom<LoggedValue>& scratch) {
    constexpr unsigned kBits = 11;
    constexpr std::size_t kBuckets = std::size_t{1} << kBits;
    std::uint32_t largest = 0;
    for (const LoggedValue& item : log) largest = std::max(largest, item.slot);
    if (scratch.size() < log.size()) scratch.resize(log.size());
    std::span<LoggedValue> other = std::span(scratch).first(log.size());
    for (unsigned shift = 0; shift < 32 && (largest >> shift) != 0; shift += kBits) {
        std::array<std::size_t, kBuckets> place{};
        for (const LoggedValue& item : log) ++place[(item.slot >> shift) % kBuckets];
        std::size_t sum = 0;
        for (std::size_t& count : place) {
            const std::size_t here = count;
            count = sum;
            sum += here;
        }
        for (const LoggedValue& item : log) other[place[(item.slot >> shift) % kBuckets]++] = item;
        std::swap(log, other);
    }
    return log;
}

// The values of a log by slot.
class SortedLog {
  public:
    SortedLog() = default;
    SortedLog(SortedLog&&) = default;
    explicit SortedLog(LargeRoom<LoggedValue> log) : log_(std::move(log)) {
        items_ = sorted_by_slot(log_, scratch_);
        // where runs of kStretch slots begin, so that looking for one of them is short
        if (items_.empty()) return;
        begin_.assign(items_.back().slot / kStretch + 2, 0);
        for (const LoggedValue& item : items_) ++begin_[item.slot / kStretch + 1];
        for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
    }

    std::span<const LoggedValue> of(std::uint32_t slot) const {
        const std::size_t stretch = slot / kStretch;
        if (stretch + 1 >= begin_.size()) return {};
        const LoggedValue* first = items_.data() + begin_[stretch];
        const LoggedValue* end = items_.data() + begin_[stretch + 1];
        while (first != end && first->slot < slot) ++first;
        const LoggedValue* last = first;
        while (last != end && last->slot == slot) ++last;
        return {first, last};
    }

  private:
    static constexpr std::uint32_t kStretch = 16;

    LargeRoom<LoggedValue> log_, scratch_;
    std::span<const LoggedValue> items_;  // in one of them
    std::vector<std::uint32_t> begin_;
};

}  // namespace driftsieve
