#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/quantiles/cells.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace driftsieve {

// Counts in the cells of a map.
template <class Cell>
struct CellCounts {
    const CellMap* map = nullptr;
    const Cell* cells = nullptr;           // all classes together
    const Cell* class_cells = nullptr;     // class after class, where there are few
    std::size_t classes_apart = 0;         // their number
    const std::uint16_t* index = nullptr;  // otherwise: the cell of each value
};

// Merges cells into a summary.
template <class Weight>
class CellWalk {
    static constexpr bool kUnit = std::is_integral_v<Weight>;
    using Cell = std::conditional_t<kUnit, std::uint16_t, double>;
    using Sum = std::conditional_t<kUnit, std::uint32_t, double>;

  public:
    // MERGE with `summary` and PRUNE to `budget` in one walk from right to left. The cells between
    // two mini-bins are added as one sum if the budget allows it, so the time depends on the
    // summary and on what is added to it, not on the values.
    //
    // The walk uses only total weights. It joins a stretch of the summary and the adjacent stretch
    // of cells to one mini-bin; `split` then adds the classes of both. `column` has the values that
    // the cells were filled with, if they do not count classes separately.
    void merge(const CellCounts<Cell>& counts, const SummaryOf<Weight>& summary, Weight budget,
               const BlockColumn& column, SummaryOf<Weight>& out) {
        counts_ = counts;
        sum_up();
        place(summary);
        cuts_.resize(summary.size() + counts_.map->size() + 1);
        Cut* end = cuts_.data() + cuts_.size() - 1;
        // The two sides of zero are walked separately, so nothing is joined across it.
        const std::size_t zero = counts_.map->index(0.0);  // the first cell that begins at 0
        const auto bound = [&](bool above) {
            const auto it =
                above ? std::upper_bound(summary.values.begin(), summary.values.end(), 0.0)
                      : std::lower_bound(summary.values.begin(), summary.values.end(), 0.0);
            return static_cast<std::size_t>(it - summary.values.begin());
        };
        const std::size_t positive = bound(true);
        const std::size_t not_negative = bound(false);
        const std::size_t first_cell = std::max<std::size_t>(1, zero);
        Cut* cut = walk(summary, {positive, summary.size(), first_cell, counts_.map->size() + 1},
                        budget, end);
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
    // that are not in the mini-bin before it.
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

    CellCounts<Cell> counts_;
    Room<Sum> below_;  // weight of all cells before each
    Room<std::uint32_t> finest_;
    Room<std::uint16_t> places_;       // cells of the summary's values
    Room<double> next_values_;         // the double after each
    Room<std::uint16_t> next_places_;  // and its cell
    Room<Weight> totals_;
    Room<Cut> cuts_;
    std::vector<std::uint32_t> cut_of_cell_;
    Room<std::uint32_t> from_cells_;  // mini-bins at the end of a cell
    bool has_equal_ = false;          // whether one of them has the value of the next one

    std::size_t n_cells() const { return counts_.map->size() + 2; }

    void sum_up() {
        below_.resize(n_cells() + 1);
        if constexpr (kUnit) {
            Sum before = 0;
            for (std::size_t m = 0; m < n_cells(); ++m) {
                below_[m] = before;
                before += counts_.cells[m];
            }
            below_[n_cells()] = before;
        } else {
            kernels().sum_weights_below(counts_.cells, n_cells(), below_.data());
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
        kernels().finest_cells(values, n, counts_.map->rule(), finest_.data());
        out.resize(n);
        const CellMap& map = *counts_.map;
        for (std::size_t i = 0; i < n; ++i) out[i] = map.cell(finest_[i]);
    }

    // Walks one stretch from right to left and writes its mini-bins before `end`.
    Cut* walk(const SummaryOf<Weight>& summary, const Stretch& stretch, Weight budget, Cut* end) {
        const Cut after = *end;  // before there is a mini-bin, its position is written to
        Cut* cut = end;
        // The mini-bin that may still grow. Before there is one, nothing can be joined.
        Cut keeper{0.0, std::numeric_limits<Weight>::max() / 2, 0, 0};
        std::size_t cell_end = stretch.last_cell;  // cells from here on are done
        Weight hidden_after{0};
        // in registers: the compiler must assume that writes in the loop could change them
        const Sum* below = below_.data();
        const Weight* totals = totals_.data();
        const Weight* hidden = summary.hidden.data();
        const double* values = summary.values.data();
        const std::uint16_t* places = places_.data();
        const std::uint16_t* next_places = next_places_.data();
        for (std::size_t i = stretch.last_entry; i-- > stretch.first_entry;) {
            // Cells from that of the next double on are above the mini-bin. If that is its own
            // cell, all of the cell may be below it, or nothing.
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

    // By the proof nothing hides more than the budget. With rounding it may, and then nothing,
    // however light, could ever be joined to it.
    static Weight within(Weight hidden, Weight budget) {
        const bool by_rounding =
            !kUnit && hidden > budget && hidden <= static_cast<double>(budget) * (1.0 + 1e-12);
        return by_rounding ? budget : hidden;
    }

    // Cells [begin, end) from the right: the keeper absorbs as many as its budget allows, then the
    // next cell that is not empty becomes the keeper.
    Cut* offer_cells(std::size_t begin, std::size_t end, std::size_t entry_end, Weight hidden_after,
                     Weight budget, Cut& keeper, Cut* cut) const {
        const Sum least = below_[begin];
        Sum most = below_[end];
        while (most > least) {
            // added, not subtracted, so that rounding cannot exceed the budget
            const Weight rest = static_cast<Weight>(most - least);
            if (keeper.hidden + rest <= budget) {
                keeper.hidden += rest;
                break;
            }
            const Weight room = keeper.hidden < budget ? budget - keeper.hidden : Weight{0};
            // after `begin` despite rounding, because the cells before it belong to other mini-bins
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
    // usually near, and found without branches, because its position cannot be predicted.
    std::size_t first_reaching(std::size_t end, Sum weight) const {
        for (;;) {
            const std::size_t before = end;
            for (std::size_t step = 8; step > 0; step /= 2) {
                const std::size_t at = end > step ? end - step : 0;
                end = below_[at] >= weight ? at : end;
            }
            if (before - end < 15) return end;  // otherwise it may be further on
        }
    }

    // The class weights of the mini-bins of the walk.
    void split(const SummaryOf<Weight>& summary, std::span<const Cut> cuts,
               const BlockColumn& column, SummaryOf<Weight>& out) {
        out.reset(cuts.size(), summary.n_classes);
        if (summary.n_classes == 2)  // the usual case, compiled separately
            add_entries<2>(summary, cuts, out);
        else
            add_entries<0>(summary, cuts, out);
        if (counts_.classes_apart > 0)
            add_class_cells(cuts, out);
        else
            add_values(cuts, column, out);
        if (has_equal_) join_equal(out);
    }

    // A cell that is separate from a mini-bin at its end: by the proof both fit into one, but not
    // always with rounding.
    static void join_equal(SummaryOf<Weight>& out) {
        std::size_t size = 0;
        for (std::size_t k = 0; k < out.size(); ++k) {
            const bool joins = size > 0 && out.values[k] == out.values[size - 1];
            const std::size_t to = joins ? size - 1 : size++;
            out.values[to] = out.values[k];
            out.hidden[to] = joins ? std::max(out.hidden[to], out.hidden[k]) : out.hidden[k];
            for (std::size_t c = 0; c < out.n_classes; ++c)
                out.of(to)[c] = out.of(k)[c] + (joins ? out.of(to)[c] : Weight{0});
        }
        out.resize(size);
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
        has_equal_ = false;
        for (std::size_t i = 0; i < n_from_cells; ++i) {
            const std::size_t k = from_cells_[i];
            out.values[k] = counts_.map->upper(cuts[k].cell_end - 1, coarse);
            has_equal_ = has_equal_ || (k + 1 < out.size() && out.values[k] == out.values[k + 1]);
        }
    }

    // From cells that count each class separately.
    void add_class_cells(std::span<const Cut> cuts, SummaryOf<Weight>& out) const {
        for (std::size_t c = 0; c < counts_.classes_apart; ++c) {
            const Cell* cells = counts_.class_cells + c * n_cells();
            Weight* into = out.weights.data() + c;
            std::size_t m = 1;
            for (std::size_t k = 0; k < cuts.size(); ++k, into += out.n_classes) {
                // Cells after the last one were too light to change the sum of all, so the walk did
                // not find them. But a class that has no other weight must keep them.
                const std::size_t end =
                    k + 1 < cuts.size() ? cuts[k].cell_end : counts_.map->size() + 1;
                for (; m < end; ++m) *into += static_cast<Weight>(cells[m]);
            }
        }
    }

    // Value by value, with the cell of each value and the mini-bin of each cell.
    void add_values(std::span<const Cut> cuts, const BlockColumn& column, SummaryOf<Weight>& out) {
        cut_of_cell_.assign(n_cells(), kNowhere);
        std::size_t cell = 1;
        for (std::size_t k = 0; k < cuts.size(); ++k)
            for (; cell < cuts[k].cell_end; ++cell)
                if (counts_.cells[cell] != Cell{0})
                    cut_of_cell_[cell] = static_cast<std::uint32_t>(k);
        // Too light to change the sum of all cells, so the walk did not find them. But a class that
        // has no other weight must keep them.
        for (; cell <= counts_.map->size(); ++cell)
            if (counts_.cells[cell] != Cell{0})
                cut_of_cell_[cell] = static_cast<std::uint32_t>(cuts.size() - 1);
        for (std::size_t c = 0; c < column.n_classes(); ++c)
            for (std::size_t i = column.begin[c]; i < column.begin[c + 1]; ++i) {
                const std::uint32_t k = cut_of_cell_[counts_.index[i]];
                if (k != kNowhere) out.of(k)[c] += static_cast<Weight>(column.weight(i));
            }
    }
    static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace driftsieve
