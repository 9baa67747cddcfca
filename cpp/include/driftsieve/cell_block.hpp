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
    using Sum = std::conditional_t<kUnit, std::uint32_t, double>;

  public:
    using Cell = std::conditional_t<kUnit, std::uint16_t, double>;  // small, to stay in cache
    static constexpr double kMostInCell = 65535;                    // what a cell can count
    // Up to so many classes have cells of their own.
    static constexpr std::size_t kFewClasses = 4;

    // Values and their cells, on top of what earlier blocks have left there. False where counting
    // would not pay or must not be done: few values, or values many of which would have to be taken
    // out again. Up to `few` distinct values stay exact.
    bool fill(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
              const Cell* earlier, double most_per_cell, std::size_t few) {
        if (map.size() == 0) return false;
        if (earlier == nullptr &&
            (column.size() <= few || static_cast<double>(column.size()) > kMostInCell))
            return false;
        map_ = &map;
        earlier_ = earlier;
        count(column, finest);
        look_over();
        // there may be few distinct values: they must stay exact
        const bool all = earlier == nullptr && used_ <= few;
        const Cell most =
            static_cast<Cell>(kUnit ? std::min(most_per_cell, kMostInCell) : most_per_cell);
        if (!take_out(column, all ? Cell{0} : most, all || largest_ > static_cast<double>(most)))
            return false;
        has_cells_ = !all;
        if (!exact_.empty()) look_over();
        return true;
    }

    // What earlier blocks have left.
    void resume(const CellMap& map, const Cell* earlier, std::size_t n_classes) {
        map_ = &map;
        classes_apart_ = n_classes;
        class_cells_.assign(earlier, earlier + n_classes * n_cells());
        add_up_classes();
        look_over();
    }

    // What was taken out of the cells; whether there is anything else, and if so what.
    const SummaryOf<Weight>& exact() const { return exact_; }
    bool has_cells() const { return has_cells_; }
    const Room<Cell>& class_cells() const { return class_cells_; }
    double largest() const { return largest_; }

    // MERGE with `summary` and PRUNE to `budget` in one walk from right to left. The cells between
    // two mini-bins are taken in as one sum where the budget allows, so the cost is that of the
    // summary and of what is added to it, not of the values.
    //
    // The walk looks at total weights only. What it makes of a stretch of the summary and the
    // stretch of cells beside it is one mini-bin; `split` then adds up the classes of both.
    // `column` is what the cells were filled with, if they do not have the classes apart.
    void merge(const SummaryOf<Weight>& summary, Weight budget, const BlockColumn& column,
               SummaryOf<Weight>& out) {
        sum_up();
        place(summary);
        cuts_.resize(summary.size() + used_ + 1);
        Cut* end = cuts_.data() + cuts_.size() - 1;
        // Sides of zero are walked apart, so nothing is joined across it.
        const std::size_t zero = map_->index(0.0);  // this cell begins at 0
        const auto bound = [&](bool above) {
            const auto it =
                above ? std::upper_bound(summary.values.begin(), summary.values.end(), 0.0)
                      : std::lower_bound(summary.values.begin(), summary.values.end(), 0.0);
            return static_cast<std::size_t>(it - summary.values.begin());
        };
        const std::size_t positive = bound(true);
        const std::size_t not_negative = bound(false);
        const std::size_t first_cell = std::max<std::size_t>(1, zero);
        Cut* cut =
            walk(summary, {positive, summary.size(), first_cell, map_->size() + 1}, budget, end);
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
    static constexpr std::size_t kFewTaken = 8;

    const CellMap* map_ = nullptr;
    Room<std::uint16_t> index_;  // cell of each value
    Room<Cell> cells_;
    Room<Cell> class_cells_;  // class after class, where there are few
    const Cell* earlier_ = nullptr;
    std::size_t used_ = 0;
    double largest_ = 0.0;
    bool has_cells_ = false;
    std::size_t classes_apart_ = 0;
    Room<Sum> below_;  // weight of all cells before each
    std::vector<std::uint16_t> taken_cells_;
    std::vector<std::uint16_t> taken_;  // by cell: number of what is taken out, from 1; else 0
    Room<std::uint32_t> members_;
    Room<std::uint32_t> first_;  // by number: the first member
    SummaryOf<Weight> firsts_;   // by number: the first value met and all that equal it
    Room<Weighed> others_;
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
        classes_apart_ = n_classes <= kFewClasses ? n_classes : 0;
        const std::size_t n_apart = std::max<std::size_t>(1, classes_apart_);
        class_cells_.resize(n_apart * n_cells());
        if (earlier_ == nullptr)
            std::fill(class_cells_.begin(), class_cells_.end(), Cell{0});
        else
            std::copy_n(earlier_, class_cells_.size(), class_cells_.begin());
        index_.resize(column.size());
        for (std::size_t c = 0; c < n_classes; ++c) {
            const std::size_t first = column.begin[c];
            const std::size_t count = column.begin[c + 1] - first;
            Cell* cells = class_cells_.data() + (classes_apart_ > 0 ? c * n_cells() : 0);
            if constexpr (kUnit)
                kernels().count_cells(finest + first, count, map_->cuts(), index_.data() + first,
                                      cells);
            else
                kernels().weigh_cells(finest + first, column.weights + first, count, map_->cuts(),
                                      index_.data() + first, cells);
        }
        add_up_classes();
    }

    void add_up_classes() {
        const std::size_t n_apart = std::max<std::size_t>(1, classes_apart_);
        cells_.resize(n_cells());
        std::copy_n(class_cells_.begin(), n_cells(), cells_.begin());
        for (std::size_t c = 1; c < n_apart; ++c) {
            const Cell* more = class_cells_.data() + c * n_cells();
            for (std::size_t m = 0; m < n_cells(); ++m)
                cells_[m] = static_cast<Cell>(cells_[m] + more[m]);
        }
    }

    void look_over() {
        Kernels::Census census;
        if constexpr (kUnit)
            census = kernels().census(cells_.data(), n_cells());
        else
            census = kernels().census_weights(cells_.data(), n_cells());
        used_ = census.used;
        largest_ = census.largest;
    }

    // Takes cells of more than `most`, and what lies outside, out of the cells and into exact_.
    bool take_out(const BlockColumn& column, Cell most, bool crowded) {
        const std::size_t n_classes = column.n_classes();
        exact_.reset(0, n_classes);
        if (!crowded && cells_.front() == Cell{0} && cells_.back() == Cell{0}) return true;
        find_taken(most);
        // in the order of the cells, and so of their values
        firsts_.reset(taken_cells_.size(), n_classes);
        std::fill(firsts_.hidden.begin(), firsts_.hidden.end(), Weight{0});
        std::fill(firsts_.weights.begin(), firsts_.weights.end(), Weight{0});
        part_members(column, find_members(column.size()));
        // cells that were made for other rows are given up sooner
        if (others_.size() > column.size() / (earlier_ == nullptr ? 2 : 8)) {
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
            taken_[m] = 0;
            cells_[m] = Cell{0};
            for (std::size_t c = 0; c < classes_apart_; ++c) {
                const std::size_t at = c * n_cells() + m;
                class_cells_[at] = earlier_ == nullptr ? Cell{0} : earlier_[at];
                cells_[m] = static_cast<Cell>(cells_[m] + class_cells_[at]);
            }
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
    std::span<const std::uint32_t> find_members(std::size_t n) {
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

    // Into those that equal the first of their cell, and others.
    void part_members(const BlockColumn& column, std::span<const std::uint32_t> members) {
        first_.resize(taken_cells_.size());
        for (std::size_t k = members.size(); k-- > 0;)
            first_[taken_[index_[members[k]]] - 1u] = members[k];
        for (std::size_t k = 0; k < taken_cells_.size(); ++k)
            firsts_.values[k] = column.value(first_[k]) + 0.0;  // there is one zero, not two
        others_.resize(members.size() + 1);
        std::size_t n_others = 0;
        // without cells of its own to tell, each class is added up
        const bool tells = kUnit && classes_apart_ > 0;
        const double* firsts = firsts_.values.data();
        Weighed* others = others_.data();
        std::size_t k = 0;
        for (std::uint32_t cls = 0; cls < column.n_classes(); ++cls) {
            for (; k < members.size() && members[k] < column.begin[cls + 1]; ++k) {
                const std::uint32_t i = members[k];
                const std::size_t number = taken_[index_[i]] - 1u;
                const double value = column.value(i);
                const bool other = value != firsts[number];
                const Weight weight = weight_of(column, i);
                others[n_others] = {value, static_cast<double>(weight), cls};
                n_others += other;
                if (!tells) firsts_.of(number)[cls] += other ? Weight{0} : weight;
            }
        }
        others_.resize(n_others);
        if (!tells) return;
        for (std::size_t c = 0; c < classes_apart_; ++c)
            for (std::size_t k = 0; k < taken_cells_.size(); ++k) {
                const std::size_t at = c * n_cells() + taken_cells_[k];
                firsts_.of(k)[c] = static_cast<Weight>(class_cells_[at] -
                                                       (earlier_ == nullptr ? 0 : earlier_[at]));
            }
        for (const Weighed& row : others_)
            firsts_.of(taken_[map_->index(row.value)] - 1u)[row.cls] -= Weight{1};
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
            Sum before = 0;
            for (std::size_t m = 0; m < n_cells(); ++m) {
                below_[m] = before;
                before += cells_[m];
            }
            below_[n_cells()] = before;
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
        const Sum* below = below_.data();
        const Weight* totals = totals_.data();
        const Weight* hidden = summary.hidden.data();
        const double* values = summary.values.data();
        const std::uint16_t* places = places_.data();
        const std::uint16_t* next_places = next_places_.data();
        for (std::size_t i = stretch.last_entry; i-- > stretch.first_entry;) {
            // Cells from that of the next double on lie above the mini-bin. If that is its own
            // cell, all of the cell may lie below it, or nothing.
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
            keeper.hidden = keep ? within(hidden[i] + here, budget) : keeper.hidden + weight;
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

    // By the proof nothing hides more than the budget; by rounding it may, and then nothing,
    // however light, could ever be joined to it.
    static Weight within(Weight hidden, Weight budget) {
        const bool by_rounding =
            !kUnit && hidden > budget && hidden <= static_cast<double>(budget) * (1.0 + 1e-12);
        return by_rounding ? budget : hidden;
    }

    // Cells [begin, end) from the right: the keeper takes in as many as its budget allows, then the
    // next cell that is not empty becomes the keeper.
    Cut* offer_cells(std::size_t begin, std::size_t end, std::size_t entry_end, Weight hidden_after,
                     Weight budget, Cut& keeper, Cut* cut) const {
        const Sum least = below_[begin];
        Sum most = below_[end];
        while (most > least) {
            // added up, not subtracted: what is lost in rounding fits as well
            const Weight rest = static_cast<Weight>(most - least);
            if (keeper.hidden + rest <= budget) {
                keeper.hidden += rest;
                break;
            }
            const Weight room = keeper.hidden < budget ? budget - keeper.hidden : Weight{0};
            // after `begin` whatever rounding says: the cells before it belong to other mini-bins
            const std::size_t m =
                std::max(begin + 1, first_reaching(end, most - static_cast<Sum>(room)));
            keeper.hidden += static_cast<Weight>(most - below_[m]);
            *cut-- = keeper;
            end = m - 1;
            const Weight cell = static_cast<Weight>(below_[m] - below_[end]);
            keeper = {kUpperEnd, within(cell + hidden_after, budget),
                      static_cast<std::uint32_t>(entry_end), static_cast<std::uint32_t>(m)};
            most = below_[end];
        }
        return cut;
    }

    // Smallest m <= end with below_[m] >= weight, where below_[end] is and below_[0] is not. It is
    // mostly near, and found without branches, since where it is cannot be predicted.
    std::size_t first_reaching(std::size_t end, Sum weight) const {
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
        out.reset(cuts.size(), summary.n_classes);
        if (summary.n_classes == 2)  // the usual case, and worth a copy of its own
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
            const Cell* cells = class_cells_.data() + c * n_cells();
            Weight* into = out.weights.data() + c;
            std::size_t m = 1;
            for (std::size_t k = 0; k < cuts.size(); ++k, into += out.n_classes) {
                // Cells after the last one were too light to show in the sum of all, so the walk
                // has not seen them. But a class that has nothing else must not lose them.
                const std::size_t end = k + 1 < cuts.size() ? cuts[k].cell_end : map_->size() + 1;
                for (; m < end; ++m) *into += static_cast<Weight>(cells[m]);
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
