#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/feature_state.hpp"

namespace driftsieve {

// One feature as scoring sees it: every class, zeros and unfinished blocks included.
struct Column {
    std::vector<Moments> moments;
    std::vector<double> missing;
    std::vector<Entries> entries;

    void reset(std::size_t n_classes) {
        moments.assign(n_classes, Moments{});
        missing.assign(n_classes, 0.0);
        entries.resize(n_classes);
        for (Entries& list : entries) list.clear();
    }

    void load(const FeatureState& state, double factor) {
        for (const ClassState& source : state.classes) {
            missing[source.cls] = source.missing * factor;
            moments[source.cls] = source.moments;
            moments[source.cls].scale(factor);
            source.entries.load(entries[source.cls]);
            if (factor != 1.0) scale_entries(entries[source.cls], factor);
        }
    }

    // Adds what other rows of the class hold.
    void add(std::size_t cls, const Moments& more, std::span<const Entry> other, Entries& scratch) {
        moments[cls].merge(more);
        if (other.empty()) return;
        merge_entries<double>(entries[cls], other, scratch);
        entries[cls].swap(scratch);
    }

    double weight(std::size_t cls) const {
        double sum = 0.0;
        for (const Entry& entry : entries[cls]) sum += entry.weight;
        return sum;
    }

    // No true rank differs from the running sums by more.
    double rank_error() const {
        double sum = 0.0;
        for (const Entries& list : entries) sum += largest_hidden(list);
        return sum;
    }
};

// Cuts a column into quantile bins of its faded distribution.
class BinCutter {
  public:
    // A cumulative weight counts as having reached i * W / K from this share of it on, so that
    // rounding in the sums does not move an edge. The offline reference uses the same number.
    static constexpr long double kEdgeTolerance = 1e-12;

    // edges: K - 1 values, NaN where the column has no weight; bins: K x C weights, multiplied by
    // `unit`, class c at class_place[c].
    void cut(const Column& column, std::span<const std::uint32_t> class_place, std::size_t n_bins,
             double unit, double* edges, double* bins) {
        const std::size_t n_classes = column.entries.size();
        interleave(column);
        long double total = 0.0L;  // long: see kEdgeTolerance
        for (const Tagged& item : items_) total += item.weight;
        std::fill_n(bins, n_bins * n_classes, 0.0);
        std::fill_n(edges, n_bins - 1, std::numeric_limits<double>::quiet_NaN());

        long double reached = 0.0L;
        std::size_t bin = 0;        // where the next value goes
        std::size_t next_edge = 0;  // 0-based; edge i waits for (i + 1) / K of the weight
        for (std::size_t i = 0; i < items_.size();) {
            const double value = items_[i].value;
            // equal values never part
            for (; i < items_.size() && items_[i].value == value; ++i) {
                reached += items_[i].weight;
                bins[bin * n_classes + class_place[items_[i].cls]] += items_[i].weight * unit;
            }
            while (next_edge + 1 < n_bins &&
                   reached >= static_cast<long double>(next_edge + 1) * total /
                                  static_cast<long double>(n_bins) * (1.0L - kEdgeTolerance))
                edges[next_edge++] = value;
            bin = next_edge;
        }
    }

  private:
    struct Tagged {
        double value;
        double weight;
        std::uint32_t cls;
    };
    std::vector<Tagged> items_;
    std::vector<Tagged> other_;
    std::vector<std::size_t> runs_;

    // Merges the sorted classes pair by pair.
    void interleave(const Column& column) {
        items_.clear();
        runs_.assign(1, 0);
        for (std::uint32_t cls = 0; cls < column.entries.size(); ++cls) {
            if (column.entries[cls].empty()) continue;
            for (const Entry& entry : column.entries[cls])
                items_.push_back({entry.value, entry.weight, cls});
            runs_.push_back(items_.size());
        }
        const auto at = [](std::vector<Tagged>& items, std::size_t i) {
            return items.begin() + static_cast<std::ptrdiff_t>(i);
        };
        while (runs_.size() > 2) {
            other_.resize(items_.size());
            std::size_t kept = 1;
            for (std::size_t run = 0; run + 1 < runs_.size(); run += 2) {
                const std::size_t begin = runs_[run];
                const std::size_t middle = runs_[run + 1];
                const std::size_t end = run + 2 < runs_.size() ? runs_[run + 2] : middle;
                std::merge(at(items_, begin), at(items_, middle), at(items_, middle),
                           at(items_, end), at(other_, begin),
                           [](const Tagged& a, const Tagged& b) { return a.value < b.value; });
                runs_[kept++] = end;
            }
            runs_.resize(kept);
            items_.swap(other_);
        }
    }
};

}  // namespace driftsieve
