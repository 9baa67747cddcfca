#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/cells.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

// The values of one class in one column of a block, counted into cells instead of sorted.
//
// A cell is an entry (see summary.hpp) whose value is the cell's upper end and which hides all it
// holds. What must be exact is taken out of the cells and kept as entries of its own: values
// outside the grid, and cells above `most_per_cell`, be they one repeated value or a crowd.
// `Weight` is uint32 for rows that all weigh 1, else double.
template <class Weight>
class CellBlock {
    static constexpr bool kUnit = std::is_integral_v<Weight>;
    using Cell = std::conditional_t<kUnit, std::int16_t, double>;  // small, to stay in cache

  public:
    static constexpr std::size_t kMostValues = 32767;  // what an int16 can count

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
        cells_.assign(grid_.size() + 2, Cell{0});  // the outer two have their places
        for (std::size_t i = 0; i < n; ++i) {
            if constexpr (kUnit)
                ++cells_[index_[i]];
            else
                cells_[index_[i]] += weights[i];
        }
        const Cell most =
            static_cast<Cell>(kUnit ? std::min(most_per_cell, 32767.0) : most_per_cell);
        const auto census = count_used(most);
        used_ = census.used;
        if (used_ <= few || !take_out(values, weights, census.crowded, most)) return false;
        sum_up();
        return true;
    }

    // What was taken out of the cells, sorted.
    std::span<const EntryOf<Weight>> exact() const { return exact_; }

    // MERGE with `summary` and PRUNE to `budget` in one walk from right to left. The cells between
    // two entries are taken in as one sum where the budget allows, so the cost is that of the
    // summary and of what is added to it, not of the values. The result lives in `room`.
    std::span<const EntryOf<Weight>> merge(std::span<const EntryOf<Weight>> summary, Weight budget,
                                           EntriesOf<Weight>& room) {
        place(summary);
        room.resize(summary.size() + used_ + 1);
        Walk walk{budget, room.data() + room.size()};
        std::size_t end = grid_.size() + 1;  // cells from here on have been dealt with
        Weight hidden_after{0};
        for (std::size_t i = summary.size(); i-- > 0;) {
            const EntryOf<Weight>& entry = summary[i];
            const std::size_t m = places_[i];
            const Weight here = static_cast<Weight>(cells_[m]);  // the outer two are empty by now
            // An entry at the upper end of its cell has all of the cell at or below it; any other
            // may have all of it below, or nothing.
            const bool at_upper_end = here != Weight{0} && entry.value == grid_.upper(m);
            offer_cells(walk, m + at_upper_end, end, hidden_after);
            const Weight taken = at_upper_end && m < end ? here : Weight{0};
            walk.offer(entry.value, entry.weight + taken, entry.hidden + here,
                       sign_of(entry.value));
            end = std::min(end, m);
            hidden_after = entry.hidden;
        }
        offer_cells(walk, 1, end, hidden_after);
        return walk.result(room.data() + room.size());
    }

  private:
    static constexpr std::size_t kMostCells = std::size_t{1} << 14;
    static constexpr std::size_t kStep = kUnit ? 32 : 8;

    // The entry that may still grow, and those that are done, written from the back.
    struct Walk {
        Weight budget;
        EntryOf<Weight>* write;
        EntryOf<Weight> keeper{0.0, 0, 0};
        int keeper_sign = 2;  // of no entry: the first that is offered is kept

        void offer(double value, Weight weight, Weight hidden, int sign) {
            if (weight + keeper.hidden <= budget && sign == keeper_sign)
                join(weight);
            else
                keep(value, weight, hidden, sign);
        }
        void keep(double value, Weight weight, Weight hidden, int sign) {
            *--write = keeper;
            keeper = {value, weight, hidden};
            keeper_sign = sign;
        }
        void join(Weight weight) {
            keeper.weight += weight;
            keeper.hidden += weight;
        }
        std::span<const EntryOf<Weight>> result(EntryOf<Weight>* room_end) {
            *--write = keeper;
            return {write, room_end - 1};  // the last one written is the keeper of the beginning
        }
    };

    CellGrid grid_;
    std::vector<std::uint16_t> index_;
    std::vector<Cell> cells_;
    std::size_t used_ = 0;
    std::vector<Cell> below_;  // weight of all cells before each
    std::size_t zero_cell_ = 0;
    std::vector<std::size_t> taken_cells_;
    std::vector<std::uint16_t> taken_;  // by cell: number of what was taken out, from 1
    EntriesOf<Weight> taken_first_;     // by number: the first value met and all that equal it
    EntriesOf<Weight> exact_;
    std::vector<double> summary_values_;
    std::vector<std::uint16_t> places_;

    Kernels::Census count_used(Cell most) const {
        if constexpr (kUnit)
            return kernels().census(cells_.data(), cells_.size(), most);
        else
            return kernels().census_weights(cells_.data(), cells_.size(), most);
    }

    bool take_out(std::span<const double> values, const double* weights, bool crowded, Cell most) {
        zero_cell_ = grid_.index(0.0);
        exact_.clear();
        taken_first_.clear();
        taken_cells_.clear();
        if (!crowded && cells_.front() == Cell{0} && cells_.back() == Cell{0}) return true;
        taken_.assign(cells_.size(), 0);
        const auto take = [&](std::size_t m) {
            if (cells_[m] == Cell{0} || taken_[m] != 0) return;
            taken_cells_.push_back(m);
            taken_first_.push_back({0.0, 0, 0});
            taken_[m] = static_cast<std::uint16_t>(taken_first_.size());
        };
        take(0);
        take(grid_.size() + 1);
        if (crowded) for_each_above(most, take);
        if (taken_cells_.empty()) return true;
        const std::uint16_t* index = index_.data();
        const std::uint16_t* taken = taken_.data();
        for (std::size_t i = 0, n = values.size(); i < n; ++i) {
            const std::uint16_t number = taken[index[i]];
            if (number == 0) [[likely]]
                continue;
            const Weight w = kUnit ? Weight{1} : static_cast<Weight>(weights[i]);
            const double value = values[i] + 0.0;  // there is one zero, not two
            EntryOf<Weight>& first = taken_first_[number - 1];
            if (first.weight == Weight{0}) first.value = value;
            if (first.value == value)
                first.weight += w;
            else
                exact_.push_back({value, w, 0});
        }
        if (exact_.size() > values.size() / 2) return false;
        exact_.insert(exact_.end(), taken_first_.begin(), taken_first_.end());
        sort_exact_entries(exact_);
        for (const std::size_t m : taken_cells_) cells_[m] = Cell{0};
        return true;
    }

    // Few cells are: most stretches are passed over at the speed of finding their largest cell.
    template <class Take>
    void for_each_above(Cell most, const Take& take) const {
        constexpr std::size_t kStretch = 64;
        for (std::size_t begin = 0; begin < cells_.size(); begin += kStretch) {
            const std::size_t end = std::min(cells_.size(), begin + kStretch);
            Cell largest{0};
            for (std::size_t m = begin; m < end; ++m) largest = std::max(largest, cells_[m]);
            if (largest <= most) continue;
            for (std::size_t m = begin; m < end; ++m)
                if (cells_[m] > most) take(m);
        }
    }

    void sum_up() {
        below_.resize(cells_.size() + 1);
        if constexpr (kUnit)
            kernels().sum_below(cells_.data(), cells_.size(), below_.data());
        else
            kernels().sum_weights_below(cells_.data(), cells_.size(), below_.data());
    }

    // Smallest m in [begin, end] with below_[m] >= weight, where below_[end] is. From the right: it
    // is mostly near. Many at a time and without branches, since where it is cannot be predicted.
    std::size_t first_reaching(std::size_t begin, std::size_t end, Cell weight) const {
        while (end > begin) {
            const std::size_t step = std::min(kStep, end);
            const Cell* window = below_.data() + (end - step);
            Cell reaching{0};
            if (step == kStep)
                for (std::size_t k = 0; k < kStep; ++k) reaching += window[k] >= weight;
            else
                for (std::size_t k = 0; k < step; ++k) reaching += window[k] >= weight;
            end -= static_cast<std::size_t>(reaching);
            if (static_cast<std::size_t>(reaching) < step) break;
        }
        return std::max(begin, end);
    }

    void place(std::span<const EntryOf<Weight>> summary) {
        summary_values_.resize(summary.size());
        places_.resize(summary.size());
        for (std::size_t i = 0; i < summary.size(); ++i) summary_values_[i] = summary[i].value;
        grid_.indices(summary_values_.data(), summary.size(), places_.data());
    }

    // Cells [begin, end). None of them straddles zero: one begins there.
    void offer_cells(Walk& walk, std::size_t begin, std::size_t end, Weight hidden_after) const {
        begin = std::max<std::size_t>(1, begin);
        if (begin >= end) return;
        if (begin <= zero_cell_ && zero_cell_ < end) {
            offer_run(walk, zero_cell_, end, 1, hidden_after);
            offer_run(walk, begin, zero_cell_, -1, hidden_after);
        } else {
            offer_run(walk, begin, end, begin > zero_cell_ ? 1 : -1, hidden_after);
        }
    }

    // Cells [begin, end) from the right: each entry takes in as many as its budget allows, then the
    // next cell that is not empty becomes an entry.
    void offer_run(Walk& walk, std::size_t begin, std::size_t end, int sign_of_run,
                   Weight hidden_after) const {
        if (begin >= end) return;
        const Cell least = below_[begin];
        Cell most = below_[end];
        while (most > least) {
            const bool joins = walk.keeper_sign == sign_of_run && walk.keeper.hidden <= walk.budget;
            const Weight room = joins ? walk.budget - walk.keeper.hidden : Weight{0};
            if (static_cast<Weight>(most - least) <= room) {
                walk.join(static_cast<Weight>(most - least));
                return;
            }
            const std::size_t m =
                first_reaching(begin, end, static_cast<Cell>(most - static_cast<Cell>(room)));
            walk.join(static_cast<Weight>(most - below_[m]));
            end = m - 1;
            const Weight cell = static_cast<Weight>(below_[m] - below_[end]);
            walk.keep(grid_.upper(end), cell, cell + hidden_after, sign_of_run);
            most = below_[end];
        }
    }
};

}  // namespace driftsieve
