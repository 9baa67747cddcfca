#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "driftsieve/feature/feature_state.hpp"

namespace driftsieve {

// A mini-bin of the summary, and a cell.
struct HeldPlace {
    std::uint32_t mini_bin = 0;
    std::uint32_t cell = 0;
};

// The values of the state of a feature between two positions, ascending: mini-bins of the summary,
// and cells, which count as their upper ends.
class HeldValues {
  public:
    HeldValues(const FeatureState& state, const HeldPlace& begin, const HeldPlace& end)
        : summary_(state.summary),
          counted_(state.counted()),
          bin_(begin.mini_bin),
          bin_end_(end.mini_bin),
          cell_(begin.cell),
          cell_end_(end.cell) {
        if (cell_ != cell_end_) coarse_ = counted_->map().coarse_of(cell_);
        find_bin();
        find_cell();
    }

    bool empty() const { return bin_ == bin_end_ && cell_ == cell_end_; }
    // The smallest value, infinity if there is none.
    double next() const { return std::min(bin_value_, cell_value_); }

    // Calls add(class, weight) for the values at next(), and advances.
    template <class Add>
    void take(const Add& add) {
        const double value = next();
        if (bin_value_ == value) {
            summary_.for_each_weight(
                bin_, bin_ + 1, [&](std::size_t, std::size_t c, double weight) { add(c, weight); });
            ++bin_;
            find_bin();
        }
        if (cell_value_ == value) {
            for (std::size_t c = 0; c < counted_->n_classes(); ++c) add(c, counted_->at(c, cell_));
            ++cell_;
            find_cell();
        }
    }

    // Calls add(class, weight) for all remaining values, class by class.
    template <class Add>
    void take_all(const Add& add) const {
        summary_.for_each_weight(
            bin_, bin_end_, [&](std::size_t, std::size_t c, double weight) { add(c, weight); });
        for (std::size_t c = 0; cell_ != cell_end_ && c < counted_->n_classes(); ++c)
            for (std::size_t m = cell_; m < cell_end_; ++m) add(c, counted_->at(c, m));
    }

  private:
    static constexpr double kNone = std::numeric_limits<double>::infinity();

    const PackedSummary& summary_;
    const CountedCells* counted_;
    std::size_t bin_, bin_end_;
    std::size_t cell_, cell_end_;
    std::size_t coarse_ = 0;
    double bin_value_ = kNone;
    double cell_value_ = kNone;

    void find_bin() { bin_value_ = bin_ == bin_end_ ? kNone : summary_.values()[bin_]; }
    // Skips empty cells.
    void find_cell() {
        while (cell_ != cell_end_ && counted_->is_empty(cell_)) ++cell_;
        cell_value_ = cell_ == cell_end_ ? kNone : counted_->map().upper(cell_, coarse_);
    }
};

}  // namespace driftsieve
