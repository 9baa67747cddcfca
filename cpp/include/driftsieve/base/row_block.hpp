#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/moments.hpp"
#include "driftsieve/base/views.hpp"

namespace driftsieve {

// A block of rows permuted by class, so that the rows of a class are contiguous in every column
// and neither counting nor moments need the labels.
struct RowBlock {
    std::vector<std::uint32_t> order;  // block row at each position
    std::vector<std::size_t> begin;    // first position of each class, and the end: C + 1
    std::vector<double> weights;       // by position; empty: all 1
    std::vector<double> class_weights;
    std::vector<std::size_t> heaviest;  // position of the heaviest row of each class

    // Weights are computed from the clock readings here, not when rows arrive: they are a function
    // of the block alone, whatever its batches.
    static RowBlock of(const RowInfo& info, std::size_t n_classes, const Fading& fading,
                       std::int64_t epoch) {
        RowBlock block;
        const std::size_t n = info.classes.size();
        block.begin.assign(n_classes + 1, 0);
        for (const std::uint32_t cls : info.classes) ++block.begin[cls + 1];
        for (std::size_t c = 0; c < n_classes; ++c) block.begin[c + 1] += block.begin[c];
        std::vector<std::size_t> place(block.begin.begin(), block.begin.end() - 1);
        block.order.resize(n);
        const bool unit = info.weights.empty() && !fading.fades();
        if (!unit) block.weights.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t k = place[info.classes[i]]++;
            block.order[k] = static_cast<std::uint32_t>(i);
            if (!unit) block.weights[k] = info.weight(i) * fading.weight(info.time(i), epoch);
        }
        block.weigh_classes();
        return block;
    }

    void weigh_classes() {
        for (std::size_t c = 0; c < n_classes(); ++c) {
            const auto first = static_cast<std::ptrdiff_t>(begin[c]);
            const auto last = static_cast<std::ptrdiff_t>(begin[c + 1]);
            class_weights.push_back(weights.empty() ? static_cast<double>(last - first)
                                                    : std::accumulate(weights.begin() + first,
                                                                      weights.begin() + last, 0.0));
            heaviest.push_back(
                weights.empty() || first == last
                    ? begin[c]
                    : static_cast<std::size_t>(
                          std::max_element(weights.begin() + first, weights.begin() + last) -
                          weights.begin()));
        }
    }

    std::size_t n_classes() const { return begin.size() - 1; }
    double weight(std::size_t place) const { return weights.empty() ? 1.0 : weights[place]; }
    const double* weights_or_null() const { return weights.empty() ? nullptr : weights.data(); }
    double total_weight() const {
        return std::accumulate(class_weights.begin(), class_weights.end(), 0.0);
    }

    void add_to(Ledger& ledger) const {
        if (ledger.totals.size() < n_classes()) ledger.totals.resize(n_classes());
        for (std::size_t c = 0; c < n_classes(); ++c)
            ledger.totals[c].add_block(begin[c], begin[c + 1],
                                       [&](std::size_t k) { return weight(k); });
    }
};

// A column of a block without its missing values, class by class.
class PresentValues {
  public:
    // `values` is the column by position; it is compacted in place if values are missing.
    PresentValues(double* values, const RowBlock& block, bool ignore_missing)
        : column_{values, 1, nullptr, block.weights_or_null(), block.begin},
          heaviest_(block.heaviest) {
        if (!ignore_missing) return;
        const bool any =
            std::any_of(values, values + block.order.size(), [](double v) { return v != v; });
        if (any) set_apart(values, block);
    }
    PresentValues(const PresentValues&) = delete;  // column() may point into it

    const BlockColumn& column() const { return column_; }
    // Weight of the rows of a class with a missing value, and the sum of their squared weights.
    double missing(std::size_t cls) const { return missing_.empty() ? 0.0 : missing_[cls].weight; }
    double missing_squared(std::size_t cls) const {
        return missing_.empty() ? 0.0 : missing_[cls].weight_squared;
    }

    Moments moments(std::size_t cls) const {
        const std::size_t first = column_.begin[cls];
        const std::size_t n = column_.begin[cls + 1] - first;
        const double* values = column_.data + first;
        const double* weights = column_.weights == nullptr ? nullptr : column_.weights + first;
        if (!missing_.empty() || n == 0) return Moments::of(values, weights, n);
        return Moments::of(values, weights, n, column_.data[heaviest_[cls]]);
    }

  private:
    BlockColumn column_;
    std::span<const std::size_t> heaviest_;  // place in each class, where nothing is missing
    std::vector<ClassTotal> missing_;
    std::vector<double> kept_weights_;
    std::vector<std::size_t> kept_begin_;

    void set_apart(double* values, const RowBlock& block) {
        const std::size_t n_classes = column_.n_classes();
        missing_.assign(n_classes, {});
        kept_begin_.assign(1, 0);
        std::size_t kept = 0;
        for (std::size_t c = 0; c < n_classes; ++c) {
            for (std::size_t i = block.begin[c]; i < block.begin[c + 1]; ++i) {
                if (std::isnan(values[i])) {
                    missing_[c].add(block.weight(i));
                    continue;
                }
                values[kept++] = values[i];
                if (!block.weights.empty()) kept_weights_.push_back(block.weights[i]);
            }
            kept_begin_.push_back(kept);
        }
        column_ = {values, 1, nullptr, block.weights.empty() ? nullptr : kept_weights_.data(),
                   kept_begin_};
    }
};

}  // namespace driftsieve
