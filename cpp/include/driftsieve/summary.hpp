#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace driftsieve {

// One mini-bin of a quantile summary: `weight` is mass with values <= value that stands in no
// earlier mini-bin; `hidden` bounds how much mass with values < value stands in no earlier one.
//
// Write A_i for the weight of the first i entries and R-(v) for the true weight of {x < v}. Then
//     A_{i-1} <= R-(value_i) <= A_{i-1} + hidden_i,
// so between value_{i-1} and value_i the true rank exceeds the running sum A_{i-1} by at most
// hidden_i, and from the last value on it is exact. The largest `hidden` is the certificate.
// No weight is ever dropped (the paper's exact weight update), so totals are exact for ever.
// docs/guarantees.md has the proof.
template <class Weight>
struct EntryOf {
    double value;
    Weight weight;
    Weight hidden;
};
using Entry = EntryOf<double>;
using NarrowEntry = EntryOf<std::uint32_t>;  // rows that weigh 1 and do not fade have whole weights

// Room that is about to be written need not be filled with zeros first.
template <class T>
struct Unfilled : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unfilled<U>;
    };
    template <class U>
    void construct(U* place) {
        ::new (static_cast<void*>(place)) U;
    }
    template <class U, class... Args>
    void construct(U* place, Args&&... args) {
        ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
    }
};

template <class Weight>
using EntriesOf = std::vector<EntryOf<Weight>, Unfilled<EntryOf<Weight>>>;
using Entries = EntriesOf<double>;

inline int sign_of(double v) {
    return (v > 0.0) - (v < 0.0);
}

// MERGE: interleaves two summaries of disjoint data into `out`. An entry's hidden mass grows by
// that of its successor in the other summary, because that is where the other side may hide mass.
template <class Weight>
void merge_entries(std::span<const EntryOf<Weight>> a, std::span<const EntryOf<Weight>> b,
                   EntriesOf<Weight>& out) {
    out.resize(a.size() + b.size());
    EntryOf<Weight>* write = out.data();
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        const EntryOf<Weight>& left = a[i];
        const EntryOf<Weight>& right = b[j];
        const bool take_left = left.value <= right.value;
        const bool take_right = right.value <= left.value;
        *write++ = {take_left ? left.value : right.value,
                    (take_left ? left.weight : Weight{0}) + (take_right ? right.weight : Weight{0}),
                    left.hidden + right.hidden};
        i += take_left;
        j += take_right;
    }
    write = std::copy(a.begin() + static_cast<std::ptrdiff_t>(i), a.end(), write);
    write = std::copy(b.begin() + static_cast<std::ptrdiff_t>(j), b.end(), write);
    out.resize(static_cast<std::size_t>(write - out.data()));
}

// PRUNE: joins each entry to its right neighbour while the neighbour's hidden mass stays within
// `budget`; a joined entry hides the weight it swallowed. Never joins across zero, so that the
// weight at, below and above zero stays exact.
template <class Weight>
void prune_entries(EntriesOf<Weight>& entries, Weight budget) {
    if (entries.size() < 2) return;
    std::size_t write = entries.size() - 1;
    for (std::size_t read = entries.size() - 1; read-- > 0;) {
        const EntryOf<Weight> candidate = entries[read];
        EntryOf<Weight>& keeper = entries[write];
        if (candidate.weight + keeper.hidden <= budget &&
            sign_of(candidate.value) == sign_of(keeper.value)) {
            keeper.hidden += candidate.weight;
            keeper.weight += candidate.weight;
        } else {
            entries[--write] = candidate;
        }
    }
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(write));
}

inline double largest_hidden(std::span<const Entry> entries) {
    double largest = 0.0;
    for (const Entry& entry : entries) largest = std::max(largest, entry.hidden);
    return largest;
}

// Sorts `entries` (all exact) by value and adds up the weights of equal values; weight 0 goes.
template <class Weight>
void sort_exact_entries(EntriesOf<Weight>& entries) {
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.value < b.value; });
    std::size_t size = 0;
    for (const EntryOf<Weight>& entry : entries) {
        if (entry.weight == Weight{0}) continue;
        if (size > 0 && entries[size - 1].value == entry.value)
            entries[size - 1].weight += entry.weight;
        else
            entries[size++] = entry;
    }
    entries.resize(size);
}

// The rows of a block as sorted exact entries; weights == nullptr: all 1.
template <class Weight>
void exact_entries_of(std::span<const double> values, const double* weights,
                      EntriesOf<Weight>& out) {
    out.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        // + 0.0: there is one zero, not two
        out[i] = {values[i] + 0.0, weights == nullptr ? Weight{1} : static_cast<Weight>(weights[i]),
                  Weight{0}};
    sort_exact_entries(out);
}

inline void scale_entries(Entries& entries, double factor) {
    for (Entry& entry : entries) {
        entry.weight *= factor;
        entry.hidden *= factor;
    }
    if (factor == 0.0) entries.clear();
}

}  // namespace driftsieve
