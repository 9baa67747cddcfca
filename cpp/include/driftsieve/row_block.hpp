#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "driftsieve/fading.hpp"
#include "driftsieve/feature_state.hpp"
#include "driftsieve/rows.hpp"

namespace driftsieve {

// A block of rows permuted by class, so that the rows of a class are contiguous in every column
// and neither counting nor moments need to look at labels.
struct RowBlock {
    std::vector<std::uint32_t> order;  // block row standing at each place
    std::vector<std::size_t> begin;    // place where each class begins, and the end: C + 1
    std::vector<double> weights;       // by place; empty: all 1

    // Weights are computed from the clock readings here, not when rows arrive: they are a function
    // of the block alone, whatever batches it came in.
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
            if (!unit)
                block.weights[k] = (info.weights.empty() ? 1.0 : info.weights[i]) *
                                   (fading.fades() ? fading.weight(info.times[i], epoch) : 1.0);
        }
        return block;
    }

    double weight(std::size_t place) const { return weights.empty() ? 1.0 : weights[place]; }

    void add_to(Ledger& ledger) const {
        if (ledger.totals.size() + 1 < begin.size()) ledger.totals.resize(begin.size() - 1);
        for (std::size_t c = 0; c + 1 < begin.size(); ++c) {
            ClassTotal block;  // summed apart: adding rows to a large total one by one loses digits
            for (std::size_t k = begin[c]; k < begin[c + 1]; ++k) block.add(weight(k));
            ledger.totals[c].weight += block.weight;
            ledger.totals[c].weight_squared += block.weight_squared;
            ledger.totals[c].rows += block.rows;
        }
    }
};

// The values of one class in one column of a block, the missing ones set apart.
class Segment {
  public:
    // `values` holds the column by place; it is compacted in place.
    Segment(double* values, const RowBlock& block, std::size_t cls, bool ignore_missing)
        : values_(values + block.begin[cls]),
          weights_(block.weights.empty() ? nullptr : block.weights.data() + block.begin[cls]),
          size_(block.begin[cls + 1] - block.begin[cls]) {
        if (ignore_missing) set_missing_apart();
    }

    double missing() const { return missing_; }
    std::size_t size() const { return size_; }

    Moments moments() const { return Moments::of(values_, weights_, size_); }

    std::span<const double> values() const { return {values_, size_}; }
    const double* weights() const { return weights_; }

    double weight() const {
        return weights_ == nullptr ? static_cast<double>(size_)
                                   : std::accumulate(weights_, weights_ + size_, 0.0);
    }

  private:
    double* values_;
    const double* weights_;
    std::size_t size_;
    double missing_ = 0.0;
    std::vector<double> kept_weights_;

    void set_missing_apart() {
        const bool any = std::any_of(values_, values_ + size_, [](double v) { return v != v; });
        if (!any) return;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            const double w = weights_ == nullptr ? 1.0 : weights_[i];
            if (std::isnan(values_[i])) {
                missing_ += w;
                continue;
            }
            values_[kept++] = values_[i];
            if (weights_ != nullptr) kept_weights_.push_back(w);
        }
        size_ = kept;
        if (weights_ != nullptr) weights_ = kept_weights_.data();
    }
};

}  // namespace driftsieve
