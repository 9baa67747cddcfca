#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/quantiles/cell_walk.hpp"
#include "driftsieve/quantiles/cells.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace driftsieve {

// A column counted into cells, to be merged into a summary without sorting.
//
// A cell is a mini-bin at its upper end that may hide all its weight. Values that must be exact are
// taken out of the cells and kept as separate mini-bins: values outside the grid, and cells with
// more than `most_per_cell`, whether of one repeated value or of many close values.
template <class Weight>
class CellBlock {
    static constexpr bool kUnit = std::is_integral_v<Weight>;

  public:
    using Cell = std::conditional_t<kUnit, std::uint16_t, double>;  // small, to stay in cache
    static constexpr double kMostInCell = 65535;                    // largest count of a cell

    // Values and their cells. Returns false if counting would be slower or is not allowed: few
    // values, or values many of which would be taken out again. Up to `few` distinct values stay
    // exact.
    bool fill(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
              double most_per_cell, std::size_t few) {
        if (column.size() <= few || static_cast<double>(column.size()) > kMostInCell) return false;
        return fill_cells(column, map, finest, false, most_per_cell, few);
    }

    // Adds to the counts of earlier blocks in `counted`, which is unchanged if the result is false.
    bool fill_up(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
                 Room<Cell>& counted, double most_per_cell) {
        earlier_cells_ = counted;
        std::swap(class_cells_, counted);  // counted in place: there may be many
        const bool filled = fill_cells(column, map, finest, true, most_per_cell, 0);
        if (!filled) class_cells_ = earlier_cells_;
        std::swap(class_cells_, counted);
        return filled;
    }

    // The next column will be counted into `counted`, or into new cells if that is empty. Its
    // memory is prefetched while this column is processed.
    void expect(std::span<const Cell> counted, const CellMap& map, std::size_t n_classes) {
        expect_nothing();
        next_ = counted;
        if (counted.empty() && n_classes <= kCountedClasses) {
            take_size(fresh_, n_classes * (map.size() + 2), kSpare);
            next_ = fresh_;
        }
        // pages first, and all at once: address translation takes longest
        constexpr std::size_t kPage = 4096 / sizeof(Cell);
        for (std::size_t m = 0; m < next_.size(); m += kPage)
            __builtin_prefetch(next_.data() + m, 1, 2);
    }
    void expect_nothing() {
        std::swap(class_cells_, fresh_);  // as predicted before
        next_ = {};
    }

    // Counts of earlier blocks.
    void resume(const CellMap& map, const Cell* earlier, std::size_t n_classes) {
        map_ = &map;
        classes_apart_ = n_classes;
        class_cells_.assign(earlier, earlier + n_classes * n_cells());
    }

    // The values taken out of the cells; whether there are others, and if so their counts.
    const SummaryOf<Weight>& exact() const { return exact_; }
    bool has_cells() const { return has_cells_; }
    Room<Cell>& class_cells() { return class_cells_; }
    double largest() const { return largest_; }

    // Merges the cells into a summary: see CellWalk.
    void merge(const SummaryOf<Weight>& summary, Weight budget, const BlockColumn& column,
               SummaryOf<Weight>& out) {
        walk_.merge({map_, all_classes(), class_cells_.data(), classes_apart_, index_.data()},
                    summary, budget, column, out);
    }

  private:
    static constexpr std::size_t kFewTaken = 16;
    static constexpr std::size_t kFewRows = 12;
    static constexpr std::size_t kSpare = 16;  // largest excess for which a feature keeps its cells

    const CellMap* map_ = nullptr;
    Room<std::uint16_t> index_;  // cell of each value
    Room<Cell> cells_;
    Room<Cell> class_cells_;  // class after class, where there are few
    Room<Cell> earlier_cells_;
    bool goes_on_ = false;        // whether they are of earlier blocks
    Room<Cell> fresh_;            // for the next column, if it has none yet
    std::span<const Cell> next_;  // the counts of the next column, or null
    double largest_ = 0.0;
    bool has_cells_ = false;
    std::size_t classes_apart_ = 0;
    Room<std::uint16_t> taken_cells_;
    std::vector<std::uint16_t> taken_;  // by cell: number of what is taken out, from 1; else 0
    Room<std::uint32_t> members_;
    Room<double> member_values_;
    Room<std::uint32_t> member_number_;  // of the cell of each
    SummaryOf<Weight> firsts_;  // by number: the first value, and the weight of all equal values
    Room<Weighed> others_;
    Room<Weighed> by_cell_;
    Room<std::uint32_t> others_number_;  // of the cell of each
    std::vector<std::uint32_t> begin_;
    SummaryOf<Weight> exact_;
    CellWalk<Weight> walk_;

    // the outer two cells have fixed positions
    std::size_t n_cells() const { return map_->size() + 2; }
    static Weight weight_of(const BlockColumn& column, std::size_t i) {
        if constexpr (kUnit)
            return 1;
        else
            return column.weights[i];
    }

    bool fill_cells(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
                    bool goes_on, double most_per_cell, std::size_t few) {
        if (map.size() == 0) return false;
        map_ = &map;
        goes_on_ = goes_on;
        count(column, finest);
        has_cells_ = !find_taken(
            static_cast<Cell>(kUnit ? std::min(most_per_cell, kMostInCell) : most_per_cell), few);
        return take_out(column);
    }

    void count(const BlockColumn& column, const std::uint32_t* finest) {
        const std::size_t n_classes = column.n_classes();
        classes_apart_ = n_classes <= kCountedClasses ? n_classes : 0;
        if (!goes_on_) {
            take_size(class_cells_, n_apart() * n_cells(), kSpare);
            std::fill(class_cells_.begin(), class_cells_.end(), Cell{0});
        }
        index_.resize(column.size());
        kernels().find_cells(finest, column.size(), map_->cuts(), index_.data());
        if (classes_apart_ == 0) {
            count_part(column, 0, column.size(), cells_of(0));
            return;
        }
        for (std::size_t c = 0; c < n_classes; ++c)
            if (column.begin[c] != column.begin[c + 1])
                count_part(column, column.begin[c], column.begin[c + 1], cells_of(c));
    }

    // Values [begin, end).
    void count_part(const BlockColumn& column, std::size_t begin, std::size_t end, Cell* cells) {
        const std::uint16_t* index = index_.data() + begin;
        if constexpr (kUnit)
            kernels().count_cells(index, end - begin, cells);
        else
            kernels().weigh_cells(index, column.weights + begin, end - begin,
                                  ahead(begin, end - begin, column.size()), cells);
    }

    // The share of `count` values of a column, from `first` on, in next_.
    Kernels::Ahead ahead(std::size_t first, std::size_t count, std::size_t n) const {
        const std::size_t begin = first * next_.size() / n;
        return {next_.data() + begin, (first + count) * next_.size() / n - begin};
    }

    std::size_t n_apart() const { return std::max<std::size_t>(1, classes_apart_); }
    Cell* cells_of(std::size_t cls) {
        return class_cells_.data() + (classes_apart_ > 0 ? cls * n_cells() : 0);
    }

    // Weight of all classes in the cells.
    const Cell* all_classes() {
        if (n_apart() == 1) return class_cells_.data();
        cells_.assign(class_cells_.begin(),
                      class_cells_.begin() + static_cast<std::ptrdiff_t>(n_cells()));
        for (std::size_t c = 1; c < n_apart(); ++c)
            for (std::size_t m = 0; m < n_cells(); ++m)
                cells_[m] = static_cast<Cell>(cells_[m] + cells_of(c)[m]);
        return cells_.data();
    }
    Cell total(std::size_t m) {
        Cell sum{0};
        for (std::size_t c = 0; c < n_apart(); ++c) sum = static_cast<Cell>(sum + cells_of(c)[m]);
        return sum;
    }

    // Numbers the cells to take out, in order: those of more than `most`, and those outside of the
    // grid. If no more than `few` cells are not empty, these are all taken out and the result is
    // true, because there may be few distinct values, which must stay exact.
    bool find_taken(Cell most, std::size_t few) {
        taken_cells_.resize(n_cells());
        const std::size_t last = n_cells() - 1;
        const bool below = total(0) > Cell{0};
        const bool above = total(last) > Cell{0};
        std::uint16_t* out = taken_cells_.data();
        if (below) *out++ = 0;
        Kernels::Census census = look_over(most, out);
        const bool all = !goes_on_ && census.used + below + above <= few;
        if (all) census = look_over(Cell{0}, out);
        for (std::size_t k = 0; k < census.found; ++k) ++out[k];
        out += census.found;
        if (above) *out++ = static_cast<std::uint16_t>(last);
        taken_cells_.resize(static_cast<std::size_t>(out - taken_cells_.data()));
        largest_ = census.rest;
        return all;
    }

    // The cells within the grid with more than `most`, numbered from 0.
    Kernels::Census look_over(Cell most, std::uint16_t* out) const {
        const Cell* inner = class_cells_.data() + 1;
        if constexpr (kUnit)
            return kernels().census(inner, n_apart(), n_cells(), map_->size(), most, out);
        else
            return kernels().census_weights(inner, n_apart(), n_cells(), map_->size(), most, out);
    }

    // Moves the values of the cells that were found to exact_.
    bool take_out(const BlockColumn& column) {
        exact_.reset(0, column.n_classes());
        if (taken_cells_.empty()) return true;
        if (taken_.size() < n_cells()) taken_.resize(n_cells());
        for (std::size_t k = 0; k < taken_cells_.size(); ++k)
            taken_[taken_cells_[k]] = static_cast<std::uint16_t>(k + 1);
        // in the order of the cells, and so of the values
        firsts_.reset(taken_cells_.size(), column.n_classes());
        std::fill(firsts_.weights.begin(), firsts_.weights.end(), Weight{0});
        if (!take_multiples(column)) part_members(column);
        for (const std::uint16_t m : taken_cells_) taken_[m] = 0;
        // cells that were made for other rows are replaced sooner
        if (others_.size() > column.size() / (goes_on_ ? 4 : 2)) return false;
        sort_others();
        list_exact();
        for (const std::uint16_t m : taken_cells_) {
            for (std::size_t c = 0; c < n_apart(); ++c) cells_of(c)[m] = earlier(c, m);
            largest_ = std::max(largest_, static_cast<double>(total(m)));
        }
        return true;
    }

    // Counts of earlier blocks in cell m.
    Cell earlier(std::size_t cls, std::size_t m) const {
        return goes_on_ ? earlier_cells_[cls * n_cells() + m] : Cell{0};
    }

    // Positions of the values in the cells to take out, as members_; returns how many.
    std::size_t find_members(std::size_t n) {
        members_.resize(n + Kernels::kPastFound);
        return kernels().find_any(index_.data(), n, taken_cells_.data(), taken_cells_.size(),
                                  taken_.data(), members_.data());
    }

    // Whether the cells have counts of each class; otherwise these are computed.
    bool tells() const { return kUnit && classes_apart_ > 0; }

    // Takes out cells that are so narrow that each has a single value, without reading the values;
    // returns false if they are not.
    bool take_multiples(const BlockColumn& column) {
        if (!tells() || column.order != nullptr || taken_[0] != 0 || taken_[n_cells() - 1] != 0)
            return false;
        std::size_t coarse = 0;
        for (std::size_t k = 0; k < taken_cells_.size(); ++k) {
            firsts_.values[k] = map_->only_multiple(taken_cells_[k], coarse);
            if (std::isnan(firsts_.values[k])) return false;
        }
        if (!kernels().are_multiples(column.data, column.size(), map_->width())) return false;
        others_.clear();
        weigh_firsts();
        return true;
    }

    // Separates the values that equal the first one of their cell from others.
    void part_members(const BlockColumn& column) {
        const bool by_comparison =
            tells() && column.order == nullptr && taken_cells_.size() <= kFewTaken;
        const auto others = by_comparison ? find_others(column) : pick_others(column);
        if (tells()) weigh_firsts();
        others_.resize(others.size());
        others_number_.resize(others.size());
        std::size_t k = 0;
        for (std::uint32_t cls = 0; cls < column.n_classes(); ++cls)
            for (; k < others.size() && others[k] < column.begin[cls + 1]; ++k) {
                const std::uint32_t i = others[k];
                const Weight weight = weight_of(column, i);
                others_number_[k] = number_of(i);
                others_[k] = {column.value(i), static_cast<double>(weight), cls};
                if (tells()) firsts_.of(number_of(i))[cls] -= weight;
            }
    }

    std::uint32_t number_of(std::size_t i) const { return taken_[index_[i]] - 1u; }

    // Positions of the others. No step has a branch that depends on a value. Each value is read
    // once, because without neighbours that are read too it comes from beyond the cache.
    std::span<const std::uint32_t> pick_others(const BlockColumn& column) {
        const std::size_t n = find_members(column.size());
        member_values_.resize(n);
        member_number_.resize(n);
        for (std::size_t k = 0; k < n; ++k) {
            member_values_[k] = column.value(members_[k]);
            member_number_[k] = number_of(members_[k]);
        }
        double* firsts = firsts_.values.data();
        for (std::size_t k = n; k-- > 0;)  // from the last one on, so that the first one stays
            firsts[member_number_[k]] = member_values_[k] + 0.0;  // no -0.0
        if (!tells()) weigh_firsts(column, n);
        std::size_t n_others = 0;
        for (std::size_t k = 0; k < n; ++k) {
            members_[n_others] = members_[k];
            n_others += member_values_[k] != firsts[member_number_[k]];
        }
        return {members_.data(), n_others};
    }

    // The first n members, row by row.
    void weigh_firsts(const BlockColumn& column, std::size_t n) {
        std::size_t k = 0;
        for (std::uint32_t cls = 0; cls < column.n_classes(); ++cls)
            for (; k < n && members_[k] < column.begin[cls + 1]; ++k) {
                const std::uint32_t number = member_number_[k];
                const bool is_first = member_values_[k] == firsts_.values[number];
                firsts_.of(number)[cls] += is_first ? weight_of(column, members_[k]) : Weight{0};
            }
    }

    // By value: by cell first, each of which has few. The sort is stable, as sort_by_value() is. It
    // has no branches, because the order cannot be predicted.
    void sort_others() {
        begin_.assign(taken_cells_.size() + 1, 0);
        for (std::size_t k = 0; k < others_.size(); ++k) ++begin_[others_number_[k] + 1];
        for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
        by_cell_.resize(others_.size());
        for (std::size_t k = 0; k < others_.size(); ++k)
            by_cell_[begin_[others_number_[k]]++] = others_[k];
        // begin_[k] is now the end of cell k
        for (std::size_t k = 0, begin = 0; k < taken_cells_.size(); begin = begin_[k++]) {
            const std::size_t n = begin_[k] - begin;
            const Weighed* const from = by_cell_.data() + begin;
            Weighed* const to = others_.data() + begin;
            if (n > kFewRows) {
                std::copy_n(from, n, to);
                sort_by_value({to, n});
                continue;
            }
            for (std::size_t i = 0; i < n; ++i) {
                std::size_t n_before = 0;
                for (std::size_t j = 0; j < i; ++j) n_before += from[j].value <= from[i].value;
                for (std::size_t j = i + 1; j < n; ++j) n_before += from[j].value < from[i].value;
                to[n_before] = from[i];
            }
        }
    }

    // Only the others, of adjacent values: most equal the first of their cell, and are skipped many
    // at a time.
    std::span<const std::uint32_t> find_others(const BlockColumn& column) {
        for (std::size_t k = 0; k < taken_cells_.size(); ++k) {
            const auto first = std::find(index_.begin(), index_.end(), taken_cells_[k]);
            firsts_.values[k] = first == index_.end() ? std::numeric_limits<double>::quiet_NaN()
                                                      : column.data[first - index_.begin()] +
                                                            0.0;  // -0.0 becomes 0.0
        }
        members_.resize(column.size() + 1);
        return {members_.data(), kernels().find_others(column.data, index_.data(), column.size(),
                                                       taken_cells_.data(), firsts_.values.data(),
                                                       taken_cells_.size(), members_.data())};
    }

    // All values of the block in the cells to take out.
    void weigh_firsts() {
        for (std::size_t c = 0; c < classes_apart_; ++c)
            for (std::size_t k = 0; k < taken_cells_.size(); ++k) {
                const std::uint16_t m = taken_cells_[k];
                firsts_.of(k)[c] = static_cast<Weight>(cells_of(c)[m] - earlier(c, m));
            }
    }

    // Cell by cell, in each by value. Rows without weight leave no mini-bin.
    void list_exact() {
        exact_.reset(firsts_.size() + others_.size(), firsts_.n_classes);
        std::size_t size = 0;
        const auto append = [&](double value) {
            exact_.values[size] = value + 0.0;  // -0.0 becomes 0.0
            exact_.hidden[size] = Weight{0};
            return exact_.of(size++);
        };
        std::size_t i = 0;
        for (std::size_t k = 0; k < firsts_.size(); ++k) {
            const std::size_t first_of_cell = size;
            bool waits = firsts_.total(k) > Weight{0};
            const auto append_first = [&] {
                std::copy_n(firsts_.of(k), firsts_.n_classes, append(firsts_.values[k]));
                waits = false;
            };
            for (; i < begin_[k]; ++i) {
                const Weighed& row = others_[i];
                if (row.weight == 0.0) continue;
                if (waits && firsts_.values[k] < row.value) append_first();
                if (size == first_of_cell || exact_.values[size - 1] != row.value)
                    std::fill_n(append(row.value), exact_.n_classes, Weight{0});
                exact_.of(size - 1)[row.cls] += static_cast<Weight>(row.weight);
            }
            if (waits) append_first();
        }
        exact_.resize(size);
    }
};

}  // namespace driftsieve
