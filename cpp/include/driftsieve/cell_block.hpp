#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/cells.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

// One column of a block of rows, class by class, without missing values. Value i is
// data[order[i] * stride], or data[i] where there is no order.
struct BlockColumn {
    const double* data = nullptr;
    std::ptrdiff_t stride = 1;
    const std::uint32_t* order = nullptr;
    const double* weights = nullptr;     // by place; nullptr: all 1
    std::span<const std::size_t> begin;  // place where each class begins, and the end: C + 1

    std::size_t size() const { return begin.empty() ? 0 : begin.back(); }
    std::size_t n_classes() const { return begin.size() - 1; }
    double value(std::size_t i) const {
        return order == nullptr ? data[i] : data[static_cast<std::ptrdiff_t>(order[i]) * stride];
    }
    double weight(std::size_t i) const { return weights == nullptr ? 1.0 : weights[i]; }
};

// A column counted into cells, to be merged into a summary without having been sorted.
//
// A cell is a mini-bin at its upper end that may hide all it holds. What must be exact is taken out
// of the cells and kept as mini-bins of its own: values outside the grid, and cells that hold more
// than `most_per_cell`, be they one repeated value or a crowd.
template <class Weight>
class CellBlock {
    static constexpr bool kUnit = std::is_integral_v<Weight>;
    using Cell = std::conditional_t<kUnit, std::uint16_t, double>;  // small, to stay in cache

  public:
    static constexpr std::size_t kMostValues = 65535;  // what a cell can count

    // Values and their cells. False where counting would not pay or must not be done: few values,
    // or values most of which would have to be taken out again. Up to `few` distinct values stay
    // exact.
    bool fill(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
              double most_per_cell, std::size_t few) {
        if (column.size() <= few || column.size() > kMostValues || map.size() == 0) return false;
        map_ = &map;
        count(column, finest);
        const Cell most =
            static_cast<Cell>(kUnit ? std::min(most_per_cell, double{kMostValues}) : most_per_cell);
        const Kernels::Census census = this->census(most);
        used_ = census.used;
        const bool all = used_ <= few;  // there may be few distinct values: they must stay exact
        if (!take_out(column, all ? Cell{0} : most, all || census.crowded)) return false;
        if (!all) sum_up();
        has_cells_ = !all;
        return true;
    }

    // What was taken out of the cells; and whether there is anything else.
    const SummaryOf<Weight>& exact() const { return exact_; }
    bool has_cells() const { return has_cells_; }

    // MERGE with `summary` and PRUNE to `budget` in one walk from right to left. The cells between
    // two mini-bins are taken in as one sum where the budget allows, so the cost is that of the
    // summary and of what is added to it, not of the values.
    //
    // The walk looks at total weights only. What it makes of a stretch of the summary and the
    // stretch of cells beside it is one mini-bin; `split` then adds up the classes of both.
    void merge(const SummaryOf<Weight>& summary, Weight budget, const BlockColumn& column,
               SummaryOf<Weight>& out) {
        place(summary);
        cuts_.resize(summary.size() + used_ + 1);
        Cut* end = cuts_.data() + cuts_.size() - 1;
        // Sides of zero are walked apart, so nothing is joined across it.
        const std::size_t zero = map_->index(0.0);  // this cell begins at 0
        const auto bound = [&](bool above) {
            const auto it = above ? std::upper_bound(summary.values.begin(), summary.values.end(), 0.0)
                                  : std::lower_bound(summary.values.begin(), summary.values.end(), 0.0);
            return static_cast<std::size_t>(it - summary.values.begin());
        };
        const std::size_t positive = bound(true);
        const std::size_t not_negative = bound(false);
        const std::size_t first_cell = std::max<std::size_t>(1, zero);
        Cut* cut = walk(summary, {positive, summary.size(), first_cell, map_->size() + 1}, budget, end);
        if (not_negative < positive) {
            --cut;
            *cut = {0.0, summary.hidden[not_negative], static_cast<std::uint32_t>(positive),
                    static_cast<std::uint32_t>(first_cell)};
        }
        cut = walk(summary, {0, not_negative, 1, first_cell}, budget, cut);
        split(summary, {cut, end}, column, out);
    }

  private:
    // A mini-bin of the result: all of the summary before entry_end, and all cells before cell_end,
    // that the mini-bin before it has not.
    struct Cut {
        double value;  // or kUpperEnd: that of the last cell
        Weight hidden;
        std::uint32_t entry_end;
        std::uint32_t cell_end;
    };
    static constexpr double kUpperEnd = std::numeric_limits<double>::infinity();
    struct Stretch {
        std::size_t first_entry, last_entry, first_cell, last_cell;
    };
    // Up to so many classes have cells of their own, if rows are merely counted.
    static constexpr std::size_t kFewClasses = 4;
    static constexpr std::size_t kFewTaken = 8;

    const CellMap* map_ = nullptr;
    Room<std::uint16_t> index_;  // cell of each value
    Room<Cell> cells_;
    Room<Cell> class_cells_;  // class after class, where there are few
    std::size_t used_ = 0;
    bool has_cells_ = false;
    std::size_t classes_apart_ = 0;
    Room<Cell> below_;        // weight of all cells before each
    Room<Cell> class_below_;  // class after class, where there are few
    std::vector<std::uint16_t> taken_cells_;
    std::vector<std::uint16_t> taken_;  // by cell: number of what is taken out, from 1; else 0
    Room<std::uint32_t> members_;
    SummaryOf<Weight> firsts_;          // by number: the first value met and all that equal it
    std::vector<Weighed> others_;
    SummaryOf<Weight> other_;
    SummaryOf<Weight> exact_;
    Room<std::uint32_t> finest_;
    Room<std::uint16_t> places_;       // cells of the summary's values
    Room<double> next_values_;         // the double after each
    Room<std::uint16_t> next_places_;  // and its cell
    Room<Weight> totals_;
    Room<Cut> cuts_;
    std::vector<std::uint32_t> cut_of_cell_;
    Room<std::uint32_t> from_cells_;  // mini-bins that stand at the end of a cell

    std::size_t n_cells() const { return map_->size() + 2; }  // the outer two have their places
    static Weight weight_of(const BlockColumn& column, std::size_t i) {
        if constexpr (kUnit)
            return 1;
        else
            return column.weights[i];
    }

    void count(const BlockColumn& column, const std::uint32_t* finest) {
        const std::size_t n_classes = column.n_classes();
        classes_apart_ = kUnit && n_classes <= kFewClasses ? n_classes : 0;
        const std::size_t n_apart = std::max<std::size_t>(1, classes_apart_);
        class_cells_.resize(n_apart * n_cells());
        std::fill(class_cells_.begin(), class_cells_.end(), Cell{0});
        index_.resize(column.size());
        for (std::size_t c = 0; c < n_classes; ++c) {
            const std::size_t first = column.begin[c];
            const std::size_t count = column.begin[c + 1] - first;
            if constexpr (kUnit)
                kernels().count_cells(finest + first, count, map_->cuts(), index_.data() + first,
                                      class_cells_.data() + (classes_apart_ > 0 ? c * n_cells() : 0));
            else
                kernels().weigh_cells(finest + first, column.weights + first, count, map_->cuts(),
                                      index_.data() + first, class_cells_.data());
        }
        cells_.resize(n_cells());
        std::copy_n(class_cells_.begin(), n_cells(), cells_.begin());
        for (std::size_t c = 1; c < n_apart; ++c) {
            const Cell* more = class_cells_.data() + c * n_cells();
            for (std::size_t m = 0; m < n_cells(); ++m)
                cells_[m] = static_cast<Cell>(cells_[m] + more[m]);
        }
    }

    Kernels::Census census(Cell most) const {
        if constexpr (kUnit)
            return kernels().census(cells_.data(), n_cells(), most);
        else
            return kernels().census_weights(cells_.data(), n_cells(), most);
    }

    // Takes cells of more than `most`, and what lies outside, out of the cells and into exact_.
    bool take_out(const BlockColumn& column, Cell most, bool crowded) {
        const std::size_t n_classes = column.n_classes();
        exact_.reset(0, n_classes);
        if (!crowded && cells_.front() == Cell{0} && cells_.back() == Cell{0}) return true;
        find_taken(most);
        // in the order of the cells, and so of their values
        firsts_.reset(taken_cells_.size(), n_classes);
        std::fill(firsts_.values.begin(), firsts_.values.end(),
                  std::numeric_limits<double>::quiet_NaN());
        std::fill(firsts_.hidden.begin(), firsts_.hidden.end(), Weight{0});
        std::fill(firsts_.weights.begin(), firsts_.weights.end(), Weight{0});
        others_.clear();
        std::uint32_t cls = 0;
        for (const std::uint32_t i : members(column.size())) {
            while (i >= column.begin[cls + 1]) ++cls;
            const std::size_t number = taken_[index_[i]] - 1u;
            const double value = column.value(i) + 0.0;  // there is one zero, not two
            double& first = firsts_.values[number];
            if (first != first) first = value;
            if (first == value)
                firsts_.of(number)[cls] += weight_of(column, i);
            else
                others_.push_back({value, static_cast<double>(weight_of(column, i)), cls});
        }
        if (others_.size() > column.size() / 2) {
            for (const std::uint16_t m : taken_cells_) taken_[m] = 0;
            return false;
        }
        drop_weightless();
        if (others_.empty()) {
            std::swap(exact_, firsts_);
        } else {
            exact_summary<Weight>(others_, n_classes, other_);
            merge_summaries(firsts_, other_, exact_);
        }
        for (const std::uint16_t m : taken_cells_) {
            cells_[m] = Cell{0};
            taken_[m] = 0;
            for (std::size_t c = 0; c < classes_apart_; ++c)
                class_cells_[c * n_cells() + m] = Cell{0};
        }
        return true;
    }

    // Numbers the cells to be taken out, in their order. Few are: most stretches are passed over at
    // the speed of finding their largest cell.
    void find_taken(Cell most) {
        if (taken_.size() < n_cells()) taken_.resize(n_cells());
        taken_cells_.clear();
        const auto take = [&](std::size_t m) {
            taken_cells_.push_back(static_cast<std::uint16_t>(m));
            taken_[m] = static_cast<std::uint16_t>(taken_cells_.size());
        };
        const std::size_t last = n_cells() - 1;
        if (cells_[0] > Cell{0}) take(0);
        constexpr std::size_t kStretch = 64;
        for (std::size_t begin = 1; begin < last; begin += kStretch) {
            const std::size_t end = std::min(last, begin + kStretch);
            Cell largest{0};
            for (std::size_t m = begin; m < end; ++m) largest = std::max(largest, cells_[m]);
            if (largest <= most) continue;
            for (std::size_t m = begin; m < end; ++m)
                if (cells_[m] > most) take(m);
        }
        if (cells_[last] > Cell{0}) take(last);
    }

    // Places of the values in the cells to be taken out.
    std::span<const std::uint32_t> members(std::size_t n) {
        members_.resize(n + 1);
        std::size_t found = 0;
        if (taken_cells_.size() <= kFewTaken) {
            found = kernels().find_any(index_.data(), n, taken_cells_.data(), taken_cells_.size(),
                                       members_.data());
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                members_[found] = static_cast<std::uint32_t>(i);
                found += taken_[index_[i]] != 0;
            }
        }
        return {members_.data(), found};
    }

    // Rows that weigh nothing leave no mini-bin.
    void drop_weightless() {
        std::size_t size = 0;
        for (std::size_t i = 0; i < firsts_.size(); ++i) {
            if (firsts_.total(i) == Weight{0}) continue;
            firsts_.values[size] = firsts_.values[i];
            std::copy_n(firsts_.of(i), firsts_.n_classes, firsts_.of(size));
            ++size;
        }
        firsts_.resize(size);
    }

    void sum_up() {
        below_.resize(n_cells() + 1);
        if constexpr (kUnit) {
            kernels().sum_below(cells_.data(), n_cells(), below_.data());
            class_below_.resize(classes_apart_ * (n_cells() + 1));
            for (std::size_t c = 0; c < classes_apart_; ++c)
                kernels().sum_below(class_cells_.data() + c * n_cells(), n_cells(),
                                    class_below_.data() + c * (n_cells() + 1));
        } else {
            kernels().sum_weights_below(cells_.data(), n_cells(), below_.data());
        }
    }

    void place(const SummaryOf<Weight>& summary) {
        const std::size_t n = summary.size();
        find_cells(summary.values.data(), n, places_);
        next_values_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const auto bits = std::bit_cast<std::int64_t>(summary.values[i]);
            next_values_[i] = std::bit_cast<double>(bits + (bits < 0 ? -1 : 1));
        }
        find_cells(next_values_.data(), n, next_places_);
        totals_.resize(n);
        if (summary.n_classes == 2)
            for (std::size_t i = 0; i < summary.size(); ++i)
                totals_[i] = summary.weights[2 * i] + summary.weights[2 * i + 1];
        else
            for (std::size_t i = 0; i < summary.size(); ++i) totals_[i] = summary.total(i);
    }

    void find_cells(const double* values, std::size_t n, Room<std::uint16_t>& out) {
        finest_.resize(n);
        kernels().finest_cells(values, n, map_->rule(), finest_.data());
        out.resize(n);
        const CellMap& map = *map_;
        for (std::size_t i = 0; i < n; ++i) out[i] = map.cell(finest_[i]);
    }

    // Walks one stretch from right to left and writes the mini-bins it makes before `end`.
    Cut* walk(const SummaryOf<Weight>& summary, const Stretch& stretch, Weight budget, Cut* end) {
        const Cut after = *end;  // until there is a mini-bin, its place is written to
        Cut* cut = end;
        // The mini-bin that may still grow. Before there is one, nothing fits into it.
        Cut keeper{0.0, std::numeric_limits<Weight>::max() / 2, 0, 0};
        std::size_t cell_end = stretch.last_cell;  // cells from here on have been dealt with
        Weight hidden_after{0};
        // held in registers: what is written in the loop might otherwise be taken for these
        const Cell* below = below_.data();
        const Weight* totals = totals_.data();
        const Weight* hidden = summary.hidden.data();
        const double* values = summary.values.data();
        const std::uint16_t* places = places_.data();
        const std::uint16_t* next_places = next_places_.data();
        for (std::size_t i = stretch.last_entry; i-- > stretch.first_entry;) {
            // Cells from that of the next double on lie above the mini-bin. If that is its own cell,
            // all of the cell may lie below it, or nothing.
            const std::size_t place = next_places[i];
            const Weight here = places[i] == place
                                    ? static_cast<Weight>(below[place + 1] - below[place])
                                    : Weight{0};
            const std::size_t m = std::min(std::max(place, stretch.first_cell), cell_end);
            const Weight run = static_cast<Weight>(below[cell_end] - below[m]);
            if (keeper.hidden + run <= budget) [[likely]]
                keeper.hidden += run;
            else
                cut = offer_cells(m, cell_end, i + 1, hidden_after, budget, keeper, cut);
            cell_end = m;
            // without branches: which of both it will be cannot be predicted
            const Weight weight = totals[i];
            const bool keep = keeper.hidden + weight > budget;
            *cut = keeper;
            cut -= keep;
            keeper.value = keep ? values[i] : keeper.value;
            keeper.hidden = keep ? hidden[i] + here : keeper.hidden + weight;
            keeper.entry_end = keep ? static_cast<std::uint32_t>(i + 1) : keeper.entry_end;
            keeper.cell_end = keep ? static_cast<std::uint32_t>(m) : keeper.cell_end;
            hidden_after = hidden[i];
        }
        cut = offer_cells(stretch.first_cell, cell_end, stretch.first_entry, hidden_after, budget,
                          keeper, cut);
        *cut = keeper;
        *end = after;
        return cut;
    }

    // Cells [begin, end) from the right: the keeper takes in as many as its budget allows, then the
    // next cell that is not empty becomes the keeper.
    Cut* offer_cells(std::size_t begin, std::size_t end, std::size_t entry_end, Weight hidden_after,
                     Weight budget, Cut& keeper, Cut* cut) const {
        const Cell least = below_[begin];
        Cell most = below_[end];
        while (most > least) {
            const Weight room = keeper.hidden < budget ? budget - keeper.hidden : Weight{0};
            if (static_cast<Weight>(most - least) <= room) {
                keeper.hidden += static_cast<Weight>(most - least);
                break;
            }
            // after `begin` whatever rounding says: the cells before it belong to other mini-bins
            const std::size_t reaching =
                first_reaching(end, static_cast<Cell>(most - static_cast<Cell>(room)));
            const std::size_t m = std::max(begin + 1, reaching);
            keeper.hidden += static_cast<Weight>(most - below_[m]);
            *cut-- = keeper;
            end = m - 1;
            const Weight cell = static_cast<Weight>(below_[m] - below_[end]);
            keeper = {kUpperEnd, cell + hidden_after, static_cast<std::uint32_t>(entry_end),
                      static_cast<std::uint32_t>(m)};
            most = below_[end];
        }
        return cut;
    }

    // Smallest m <= end with below_[m] >= weight, where below_[end] is and below_[0] is not. It is
    // mostly near, and found without branches, since where it is cannot be predicted.
    std::size_t first_reaching(std::size_t end, Cell weight) const {
        for (;;) {
            const std::size_t before = end;
            for (std::size_t step = 8; step > 0; step /= 2) {
                const std::size_t at = end > step ? end - step : 0;
                end = below_[at] >= weight ? at : end;
            }
            if (before - end < 15) return end;  // else it may lie further on
        }
    }

    // The class weights of what the walk has made.
    void split(const SummaryOf<Weight>& summary, std::span<const Cut> cuts,
               const BlockColumn& column, SummaryOf<Weight>& out) {
        out.reset(cuts.size(), column.n_classes());
        if (column.n_classes() == 2)  // the usual case, and worth a copy of its own
            add_entries<2>(summary, cuts, out);
        else
            add_entries<0>(summary, cuts, out);
        if (classes_apart_ > 0)
            add_class_cells(cuts, out);
        else
            add_values(cuts, column, out);
    }

    template <std::size_t kClasses>
    void add_entries(const SummaryOf<Weight>& summary, std::span<const Cut> cuts,
                     SummaryOf<Weight>& out) {
        const std::size_t n_classes = kClasses == 0 ? out.n_classes : kClasses;
        const Weight* from = summary.weights.data();
        Weight* into = out.weights.data();
        std::size_t entry = 0;
        std::size_t n_from_cells = 0;
        from_cells_.resize(cuts.size() + 1);
        for (std::size_t k = 0; k < cuts.size(); ++k, into += n_classes) {
            out.values[k] = cuts[k].value;
            from_cells_[n_from_cells] = static_cast<std::uint32_t>(k);
            n_from_cells += cuts[k].value == kUpperEnd;
            out.hidden[k] = cuts[k].hidden;
            std::fill_n(into, n_classes, Weight{0});
            for (; entry < cuts[k].entry_end; ++entry, from += n_classes)
                for (std::size_t c = 0; c < n_classes; ++c) into[c] += from[c];
        }
        std::size_t coarse = 0;
        for (std::size_t i = 0; i < n_from_cells; ++i)
            out.values[from_cells_[i]] = map_->upper(cuts[from_cells_[i]].cell_end - 1, coarse);
    }

    // From cells that count each class apart.
    void add_class_cells(std::span<const Cut> cuts, SummaryOf<Weight>& out) const {
        for (std::size_t c = 0; c < classes_apart_; ++c) {
            const Cell* below = class_below_.data() + c * (n_cells() + 1);
            Cell before = below[1];
            Weight* into = out.weights.data() + c;
            for (std::size_t k = 0; k < cuts.size(); ++k, into += out.n_classes) {
                const Cell reached = below[cuts[k].cell_end];
                *into += static_cast<Weight>(reached - before);
                before = reached;
            }
        }
    }

    // Value by value: each knows its cell, and each cell its mini-bin.
    void add_values(std::span<const Cut> cuts, const BlockColumn& column, SummaryOf<Weight>& out) {
        cut_of_cell_.assign(n_cells(), kNowhere);
        std::size_t cell = 1;
        for (std::size_t k = 0; k < cuts.size(); ++k)
            for (; cell < cuts[k].cell_end; ++cell)
                if (cells_[cell] != Cell{0}) cut_of_cell_[cell] = static_cast<std::uint32_t>(k);
        // Too light to show in the sum of all cells, so the walk has not seen them. But a class
        // that has nothing else must not lose them.
        for (; cell <= map_->size(); ++cell)
            if (cells_[cell] != Cell{0})
                cut_of_cell_[cell] = static_cast<std::uint32_t>(cuts.size() - 1);
        for (std::size_t c = 0; c < column.n_classes(); ++c)
            for (std::size_t i = column.begin[c]; i < column.begin[c + 1]; ++i) {
                const std::uint32_t k = cut_of_cell_[index_[i]];
                if (k != kNowhere) out.of(k)[c] += weight_of(column, i);
            }
    }
    static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace driftsieve
