#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "driftsieve/summary.hpp"

namespace driftsieve {

// A summary at rest: narrow entries (16 bytes) while weights are whole numbers, else wide ones
// (24).
class PackedEntries {
  public:
    bool empty() const { return narrow_.empty() && wide_.empty(); }
    bool is_narrow() const { return wide_.empty(); }
    std::size_t size() const { return narrow_.size() + wide_.size(); }
    std::size_t nbytes() const {
        return narrow_.capacity() * sizeof(NarrowEntry) + wide_.capacity() * sizeof(Entry);
    }
    std::span<const NarrowEntry> narrow() const { return narrow_; }

    void load(Entries& out) const {
        if (!is_narrow()) {
            out = wide_;
            return;
        }
        out.resize(narrow_.size());
        for (std::size_t i = 0; i < narrow_.size(); ++i)
            out[i] = {narrow_[i].value, static_cast<double>(narrow_[i].weight),
                      static_cast<double>(narrow_[i].hidden)};
    }

    void store(std::span<const NarrowEntry> entries) {
        replace(narrow_, entries);
        wide_ = Entries();
    }

    void store(std::span<const Entry> entries) {
        if (!std::all_of(entries.begin(), entries.end(), [](const Entry& entry) {
                return is_whole(entry.weight) && is_whole(entry.hidden);
            })) {
            replace(wide_, entries);
            narrow_ = EntriesOf<std::uint32_t>();
            return;
        }
        EntriesOf<std::uint32_t> narrowed;
        narrowed.reserve(entries.size());
        for (const Entry& entry : entries)
            narrowed.push_back({entry.value, static_cast<std::uint32_t>(entry.weight),
                                static_cast<std::uint32_t>(entry.hidden)});
        narrow_.swap(narrowed);
        wide_ = Entries();
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(narrow_, wide_);
    }

    bool sound() const {
        const auto fits = [](const NarrowEntry& entry) {
            return entry.weight <= kMostNarrow && entry.hidden <= kMostNarrow;
        };
        return (narrow_.empty() || wide_.empty()) &&
               std::all_of(narrow_.begin(), narrow_.end(), fits);
    }

  private:
    EntriesOf<std::uint32_t> narrow_;
    Entries wide_;

    // Half of the range: then the sums of two summaries fit as well.
    static constexpr std::uint32_t kMostNarrow = 2147483647;

    static bool is_whole(double x) {
        return x <= kMostNarrow && x == static_cast<double>(static_cast<std::int64_t>(x));
    }

    // A vector keeps its capacity: it is given back where it would be more than a quarter too much.
    template <class Weight>
    static void replace(EntriesOf<Weight>& old, std::span<const EntryOf<Weight>> entries) {
        const std::size_t size = entries.size();
        if (old.capacity() < size || old.capacity() > size + size / 4) {
            EntriesOf<Weight> fresh;
            fresh.reserve(size);
            old.swap(fresh);
        }
        old.assign(entries.begin(), entries.end());
    }
};

}  // namespace driftsieve
