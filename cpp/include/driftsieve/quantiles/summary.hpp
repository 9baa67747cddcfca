#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "driftsieve/memory/room.hpp"

namespace driftsieve {

// The quantile summary of one feature: mini-bins sorted by value. The class weights of mini-bin i
// are mass with values <= value_i that is not in an earlier mini-bin; hidden_i bounds how much mass
// with values < value_i is not in an earlier one.
//
// Write A_i for the weight of the first i mini-bins and R-(v) for the true weight of {x < v}. Then
//     A_{i-1} <= R-(value_i) <= A_{i-1} + hidden_i,
// so between value_{i-1} and value_i the true rank exceeds the running sum A_{i-1} by at most
// hidden_i, and from the last value on it is exact. The largest `hidden` is the certificate.
// No weight is ever dropped (the paper's exact weight update), so totals are exact for ever.
// docs/guarantees.md has the proof.
//
// `Weight` is uint32 for rows that weigh 1 and do not fade, else double.
template <class Weight>
struct SummaryOf {
    std::size_t n_classes = 0;
    Room<double> values;
    Room<Weight> hidden;
    Room<Weight> weights;  // n_classes to a mini-bin

    std::size_t size() const { return values.size(); }
    bool empty() const { return values.empty(); }
    Weight* of(std::size_t i) { return weights.data() + i * n_classes; }
    const Weight* of(std::size_t i) const { return weights.data() + i * n_classes; }

    Weight total(std::size_t i) const {
        Weight sum{0};
        for (std::size_t c = 0; c < n_classes; ++c) sum += of(i)[c];
        return sum;
    }

    // The certificate.
    double most_hidden() const {
        return empty() ? 0.0 : static_cast<double>(*std::max_element(hidden.begin(), hidden.end()));
    }

    // Resizes without initialization.
    void reset(std::size_t size, std::size_t classes) {
        n_classes = classes;
        resize(size);
    }
    void resize(std::size_t size) {
        values.resize(size);
        hidden.resize(size);
        weights.resize(size * n_classes);
    }
    // Removes the first `count`.
    void drop_front(std::size_t count) {
        const auto n = static_cast<std::ptrdiff_t>(count);
        values.erase(values.begin(), values.begin() + n);
        hidden.erase(hidden.begin(), hidden.begin() + n);
        weights.erase(weights.begin(),
                      weights.begin() + n * static_cast<std::ptrdiff_t>(n_classes));
    }

    void scale(double factor) {
        if (factor == 0.0) resize(0);
        for (Weight& h : hidden) h *= factor;
        for (Weight& w : weights) w *= factor;
    }
};
using Summary = SummaryOf<double>;
using NarrowSummary = SummaryOf<std::uint32_t>;

inline int sign_of(double v) {
    return (v > 0.0) - (v < 0.0);
}

// MERGE: interleaves two summaries of disjoint rows. The hidden mass of a mini-bin grows by that of
// its successor in the other summary, because the other summary may hide that mass there.
template <class Weight>
void merge_summaries(const SummaryOf<Weight>& a, const SummaryOf<Weight>& b,
                     SummaryOf<Weight>& out) {
    out.reset(a.size() + b.size(), a.n_classes);
    std::size_t k = 0;
    const auto copy = [&](const SummaryOf<Weight>& from, std::size_t begin, std::size_t end,
                          Weight hidden_elsewhere) {
        std::copy(from.values.data() + begin, from.values.data() + end, out.values.data() + k);
        std::copy(from.of(begin), from.of(end), out.of(k));
        for (std::size_t i = begin; i < end; ++i, ++k)
            out.hidden[k] = from.hidden[i] + hidden_elsewhere;
    };
    // runs of `a` between the values of `b`, which is often much shorter
    std::size_t i = 0;
    std::size_t j = 0;
    for (; j < b.size() && i < a.size(); ++j) {
        const std::size_t begin = i;
        while (i < a.size() && a.values[i] < b.values[j]) ++i;
        copy(a, begin, i, b.hidden[j]);
        copy(b, j, j + 1, i < a.size() ? a.hidden[i] : Weight{0});
        if (i == a.size() || a.values[i] != b.values[j]) continue;
        for (std::size_t c = 0; c < a.n_classes; ++c) out.of(k - 1)[c] += a.of(i)[c];
        ++i;
    }
    copy(a, i, a.size(), Weight{0});
    copy(b, j, b.size(), Weight{0});
    out.resize(k);
}

// PRUNE: joins each mini-bin to its right neighbour while the hidden mass of the neighbour stays
// within `budget`; the neighbour then hides the joined weight. Never joins across zero, so that the
// weight at, below and above zero stays exact.
template <class Weight>
void prune_summary(SummaryOf<Weight>& summary, Weight budget) {
    if (summary.size() < 2) return;
    std::size_t write = summary.size() - 1;
    for (std::size_t read = summary.size() - 1; read-- > 0;) {
        const Weight weight = summary.total(read);
        const bool joins = weight + summary.hidden[write] <= budget &&
                           sign_of(summary.values[read]) == sign_of(summary.values[write]);
        const Weight* from = summary.of(read);
        if (joins) {
            summary.hidden[write] += weight;
            for (std::size_t c = 0; c < summary.n_classes; ++c) summary.of(write)[c] += from[c];
        } else {
            --write;
            summary.values[write] = summary.values[read];
            summary.hidden[write] = summary.hidden[read];
            std::copy_n(from, summary.n_classes, summary.of(write));
        }
    }
    summary.drop_front(write);
}

// The mini-bins that PRUNE would keep; totals: the weight of each.
inline std::size_t pruned_size(const Summary& summary, std::span<const double> totals,
                               double budget) {
    if (summary.empty()) return 0;
    std::size_t left = 1;
    std::size_t keeper = summary.size() - 1;
    double hidden = summary.hidden[keeper];
    for (std::size_t i = keeper; i-- > 0;) {
        const bool joins = totals[i] + hidden <= budget &&
                           sign_of(summary.values[i]) == sign_of(summary.values[keeper]);
        hidden = joins ? hidden + totals[i] : summary.hidden[i];
        keeper = joins ? keeper : i;
        left += !joins;
    }
    return left;
}

// The budget for pruning a merged list, so that later merges have some of the limit left: about the
// smallest one that leaves at most 4 * w / (limit - budget) + 3 mini-bins, where w is the weight of
// all of them. A third of the rest up to `limit` is always enough (docs/guarantees.md).
inline double thrifty_budget(const Summary& summary, double limit) {
    double low = summary.most_hidden();
    if (!(low < limit)) return limit;
    std::vector<double> totals(summary.size());
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i] = summary.total(i);
    const double weight = std::accumulate(totals.begin(), totals.end(), 0.0);
    double high = low + (limit - low) / 3.0;
    for (int step = 0; step < 8; ++step) {
        const double middle = low + (high - low) / 2.0;
        const auto size = static_cast<double>(pruned_size(summary, totals, middle));
        (size <= 4.0 * weight / (limit - middle) + 3.0 ? high : low) = middle;
    }
    return high;
}

// One value of one row.
struct Weighed {
    double value;
    double weight;
    std::uint32_t cls;
};

// Stable, so that the sums of equal values do not depend on the sort of the library. Most sparse
// features have two or three rows to sort, for which the library would allocate.
inline void sort_by_value(std::span<Weighed> rows) {
    if (rows.size() > 16) {
        std::stable_sort(rows.begin(), rows.end(),
                         [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
        return;
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const Weighed row = rows[i];
        std::size_t at = i;
        for (; at > 0 && row.value < rows[at - 1].value; --at) rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

// Rows that are sorted, as exact mini-bins with the weights of equal values added.
template <class Weight>
void exact_summary_of_sorted(std::span<const Weighed> rows, std::size_t n_classes,
                             SummaryOf<Weight>& out) {
    out.reset(rows.size(), n_classes);
    std::fill(out.weights.begin(), out.weights.end(), Weight{0});
    std::size_t size = 0;
    for (const Weighed& row : rows) {
        if (row.weight == 0.0) continue;
        if (size == 0 || out.values[size - 1] != row.value) {
            out.values[size] = row.value + 0.0;  // -0.0 becomes 0.0
            out.hidden[size++] = Weight{0};
        }
        out.of(size - 1)[row.cls] += static_cast<Weight>(row.weight);
    }
    out.resize(size);
}

// The same for rows that are left sorted.
template <class Weight>
void exact_summary(std::span<Weighed> rows, std::size_t n_classes, SummaryOf<Weight>& out) {
    sort_by_value(rows);
    exact_summary_of_sorted(rows, n_classes, out);
}

}  // namespace driftsieve
