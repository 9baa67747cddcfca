#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/cells.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

// The values of one class in one column of a block, counted into cells instead of sorted.
//
// A cell is an entry (see summary.hpp) whose value is the cell's upper end and which hides all it
// holds. What must be exact is taken out of the cells and kept as entries of its own: values
// outside the grid, the cell around zero, and cells above `most_per_cell`, be they one repeated
// value or a crowd. `Weight` is uint16 for rows that all weigh 1, else double.
template <class Weight>
class CellBlock {
  public:
    static constexpr std::size_t kMostValues = 60000;  // what a uint16 can count

    // False where counting would not pay or must not be done: values that spread over `few` cells
    // or less, for they may have no more distinct values than that and then must stay exact, and
    // values most of which would have to be taken out again.
    bool fill(std::span<const double> values, const double* weights, double most_per_cell,
              std::size_t few) {
        const std::size_t n = values.size();
        if (n <= few || n > kMostValues) return false;
        grid_ = CellGrid::over(values, std::min(kMostCells, std::bit_ceil(4 * n)));
        if (grid_.size() == 0) return false;
        index_.resize(n);
        grid_.indices(values.data(), n, index_.data());
        // room for the outer two, and whole groups
        cells_.assign((grid_.size() + 2 + kGroup - 1) / kGroup * kGroup, Weight{0});
        if constexpr (kUnit)
            for (std::size_t i = 0; i < n; ++i) ++cells_[index_[i]];
        else
            for (std::size_t i = 0; i < n; ++i) cells_[index_[i]] += weights[i];
        std::size_t used = 0;
        for (const Weight cell : cells_) used += cell != Weight{0};
        if (used <= few) return false;
        if (!take_out(values, weights, most_per_cell)) return false;
        sum_up();
        return true;
    }

    // What was taken out of the cells, sorted.
    std::span<const Entry> exact() const { return exact_; }

    // MERGE with `summary` and PRUNE to `budget` in one walk from right to left. The cells between
    // two entries are taken in as one sum where the budget allows, so the cost is that of the
    // summary and of what is added to it, not of the values.
    void merge_into(std::span<const Entry> summary, double budget, Entries& out) {
        budget_ = budget;
        reversed_.clear();
        std::size_t end = grid_.size() + 1;  // cells from here on have been dealt with
        double hidden_after = 0.0;
        for (std::size_t i = summary.size(); i-- > 0;) {
            const Entry& entry = summary[i];
            const std::size_t m = grid_.index(entry.value);
            const bool inside = m >= 1 && m <= grid_.size();
            const double here = inside ? static_cast<double>(cells_[m]) : 0.0;
            const bool at_upper_end = inside && entry.value == grid_.upper(m);
            offer_cells(std::max<std::size_t>(1, at_upper_end ? m + 1 : m), end, hidden_after);
            // the rest of its own cell may lie below the entry; it lies all below an upper end
            const bool takes_cell = at_upper_end && m < end;
            offer({entry.value, entry.weight + (takes_cell ? here : 0.0), entry.hidden + here});
            end = std::min(end, std::max<std::size_t>(1, m));
            hidden_after = entry.hidden;
        }
        offer_cells(1, end, hidden_after);
        out.assign(reversed_.rbegin(), reversed_.rend());
    }

  private:
    static constexpr bool kUnit = std::is_integral_v<Weight>;
    static constexpr std::size_t kMostCells = std::size_t{1} << 14;
    static constexpr std::size_t kGroup = 8;

    CellGrid grid_;
    std::vector<std::uint16_t> index_;
    std::vector<Weight> cells_;
    std::vector<double> below_;  // weight of all cells before each group
    std::size_t zero_cell_ = 0;
    std::vector<std::uint16_t> taken_;  // by cell: number of what was taken out, from 1
    Entries taken_first_;               // by number: the first value met and all that equal it
    Entries exact_;
    double budget_ = 0.0;
    Entries reversed_;

    bool take_out(std::span<const double> values, const double* weights, double most_per_cell) {
        zero_cell_ = grid_.index(0.0);
        cells_[zero_cell_] += Weight{0};
        taken_.assign(cells_.size(), 0);
        taken_first_.clear();
        double weight_taken = 0.0;
        double weight_all = 0.0;
        const auto take = [&](std::size_t m) {
            if (cells_[m] == Weight{0} || taken_[m] != 0) return;
            taken_first_.push_back({0.0, 0.0, 0.0});
            taken_[m] = static_cast<std::uint16_t>(taken_first_.size());
            weight_taken += static_cast<double>(cells_[m]);
        };
        take(0);
        take(zero_cell_);
        take(grid_.size() + 1);
        for (std::size_t m = 1; m <= grid_.size(); ++m) {
            weight_all += static_cast<double>(cells_[m]);
            if (static_cast<double>(cells_[m]) > most_per_cell) take(m);
        }
        exact_.clear();
        if (taken_first_.empty()) return true;
        if (weight_taken > 0.5 * weight_all) return false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::uint16_t number = taken_[index_[i]];
            if (number == 0) continue;
            const double w = kUnit ? 1.0 : weights[i];
            const double value = values[i] + 0.0;  // there is one zero, not two
            Entry& first = taken_first_[number - 1];
            if (first.weight == 0.0) first.value = value;
            if (first.value == value)
                first.weight += w;
            else
                exact_.push_back({value, w, 0.0});
        }
        exact_.insert(exact_.end(), taken_first_.begin(), taken_first_.end());
        sort_exact_entries(exact_);
        for (std::size_t m = 0; m < taken_.size(); ++m)
            if (taken_[m] != 0) cells_[m] = Weight{0};
        return true;
    }

    void sum_up() {
        below_.resize(cells_.size() / kGroup + 1);
        below_[0] = 0.0;
        for (std::size_t g = 0; g + 1 < below_.size(); ++g) {
            std::conditional_t<kUnit, std::uint32_t, double> sum = 0;
            for (std::size_t k = 0; k < kGroup; ++k) sum += cells_[g * kGroup + k];
            below_[g + 1] = below_[g] + static_cast<double>(sum);
        }
    }

    double weight_below(std::size_t m) const {
        double sum = below_[m / kGroup];
        for (std::size_t k = m / kGroup * kGroup; k < m; ++k) sum += static_cast<double>(cells_[k]);
        return sum;
    }

    static int sign(double v) { return (v > 0.0) - (v < 0.0); }

    bool joins(double weight, int sign_of_weight) const {
        return !reversed_.empty() && weight + reversed_.back().hidden <= budget_ &&
               sign(reversed_.back().value) == sign_of_weight;
    }

    void join(double weight) {
        reversed_.back().hidden += weight;
        reversed_.back().weight += weight;
    }

    void offer(const Entry& entry) {
        if (joins(entry.weight, sign(entry.value)))
            join(entry.weight);
        else
            reversed_.push_back(entry);
    }

    // Cells [begin, end), none of which straddles zero: the cell around zero has been taken out.
    void offer_cells(std::size_t begin, std::size_t end, double hidden_after) {
        if (begin >= end) return;
        if (begin <= zero_cell_ && zero_cell_ < end) {
            offer_run(zero_cell_ + 1, end, 1, hidden_after);
            offer_run(begin, zero_cell_, -1, hidden_after);
        } else {
            offer_run(begin, end, begin > zero_cell_ ? 1 : -1, hidden_after);
        }
    }

    void offer_run(std::size_t begin, std::size_t end, int sign_of_run, double hidden_after) {
        if (begin >= end) return;
        const double weight = weight_below(end) - weight_below(begin);
        if (weight <= 0.0) return;
        if (joins(weight, sign_of_run)) {
            join(weight);
            return;
        }
        for (std::size_t m = end; m-- > begin;) {
            const double cell = static_cast<double>(cells_[m]);
            if (cell == 0.0) continue;
            if (joins(cell, sign_of_run))
                join(cell);
            else
                reversed_.push_back({grid_.upper(m), cell, cell + hidden_after});
        }
    }
};

}  // namespace driftsieve
