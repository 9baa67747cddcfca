#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/feature/column.hpp"
#include "driftsieve/quantiles/edge_goal.hpp"
#include "driftsieve/sparse/sparse_page.hpp"

namespace driftsieve {

// Reads features of a sparse store as columns, including their zeros. One for each thread.
class SparseReader {
  public:
    // Summaries are sufficient for `n_bins` quantile bins, or complete if that is 0. Weights may
    // differ by a share of `slack`, apart from rounding.
    SparseReader(const Config& config, const RecordLayout& layout,
                 std::span<const SparsePage> pages, const Ledger& now, std::size_t n_bins,
                 double slack = 0.0)
        : config_(config), layout_(layout), pages_(pages), now_(now), n_bins_(n_bins) {
        for (const ClassTotal& total : now.totals)
            // the largest rounding error of a difference
            rounding_.push_back(
                std::max(slack, kLastDigit * (4.0 + std::sqrt(static_cast<double>(total.rows)))) *
                total.weight);
    }

    // Features [lo, hi). If some never occurred, fill(column) is called first, for all features;
    // then visit(j, column) for each that occurred.
    template <class Fill, class Visit>
    void read(std::size_t lo, std::size_t hi, const Fill& fill, const Visit& visit) {
        std::size_t unseen = lo;
        while (unseen < hi && pages_[unseen / kColumns].seen(unseen % kColumns)) ++unseen;
        if (unseen < hi) {
            read_flag(nullptr, 1.0);
            fill(column_);
        }
        for (std::size_t p = lo / kColumns; p * kColumns < hi; ++p) {
            const SparsePage& page = pages_[p];
            if (page.records.empty()) continue;
            const double factor = Fading::rebase_factor(now_.epoch - page.epoch);
            const std::size_t begin = p * kColumns < lo ? lo % kColumns : 0;
            const std::size_t end = std::min(hi - p * kColumns, kColumns);
            const std::uint64_t logged = take_log(page, factor, begin, end);
            for (std::size_t place = begin; place < end; ++place) {
                if (!page.seen(place)) continue;
                const std::byte* record = page.record(place, layout_);
                const FeatureState* state = page.state_of(place);
                if (state == nullptr && (logged >> place & 1) == 0 &&
                    SparsePage::has_atom(layout_.value(record)))
                    read_flag(record, factor);
                else
                    read_any(page.slot_of[place] - 1u, record, state, factor);
                visit(p * kColumns + place, column_);
            }
        }
    }

  private:
    static constexpr std::size_t kColumns = SparsePage::kColumns;
    static constexpr double kLastDigit = std::numeric_limits<double>::epsilon();

    const Config& config_;
    const RecordLayout& layout_;
    std::span<const SparsePage> pages_;
    const Ledger& now_;
    std::size_t n_bins_;
    std::vector<double> rounding_;  // by class
    Column column_;
    ColumnRuns runs_;
    Scratch scratch_;
    std::vector<double> sides_;  // weight below, at and above 0, by class

    // Sorts logged values by slot. Returns a bit for each place that has some.
    std::uint64_t take_log(const SparsePage& page, double factor, std::size_t begin,
                           std::size_t end) {
        runs_.take(page.log, page.weights, factor, page.n_slots(layout_), n_classes(),
                   [&page, begin, end](std::size_t i) {
                       const std::uint32_t place = page.log[i].place;
                       return place < begin || place >= end ? ColumnRuns::kNoList
                                                            : page.slot_of[place] - 1u;
                   });
        std::uint64_t logged = 0;
        for (const LoggedValue& item : page.log) logged |= std::uint64_t{1} << item.place;
        return logged;
    }

    // Without bins (n_bins_ is 1), moments have all that is read.
    bool needs_summary() const { return config_.quantiles && !(n_bins_ == 1 && config_.moments); }

    std::size_t n_classes() const { return now_.totals.size(); }
    std::size_t n_counted() const { return std::min(n_classes(), layout_.room()); }

    // Sets the squared weights of a column whose weights are set. `record` is null if it never
    // occurred.
    void set_squares(const std::byte* record, double factor) {
        const bool known = record != nullptr && layout_.squares() != Squares::none;
        if (!config_.absent_is_missing) {
            if (known) column_.not_0_squared = layout_.squared(record, 0) * factor * factor;
            return;
        }
        for (std::size_t c = 0; c < n_classes(); ++c)
            column_.set_observed(c, now_.totals[c], column_.not_0[c],
                                 !known             ? column_.not_0[c]
                                 : c >= n_counted() ? 0.0
                                                    : layout_.squared(record, c) * factor * factor);
    }

    // The same as read_any() for a feature whose only value is its atom, or that never occurred
    // (`record` is null).
    void read_flag(const std::byte* record, double factor) {
        const double atom = record == nullptr ? 1.0 : layout_.value(record);
        column_.reset(n_classes(), 2);
        Summary& summary = column_.summary;
        const std::size_t zero_at = atom < 0.0 ? 1 : 0;
        bool any[2] = {};
        for (std::size_t c = 0; c < n_classes(); ++c) {
            const bool is_known = record != nullptr && c < n_counted();
            const double weight = is_known ? layout_.weight(record, c) * factor : 0.0;
            const double zeros = zero_weight(c, is_known ? layout_.rows(record, c) : 0, weight);
            column_.not_0[c] = weight;
            if (config_.moments) {
                column_.moments[c].merge({weight, atom, 0.0, 0.0});
                column_.moments[c].merge({zeros, 0.0, 0.0, 0.0});
            }
            summary.of(zero_at)[c] = zeros;
            summary.of(1 - zero_at)[c] = weight;
            any[zero_at] |= zeros != 0.0;
            any[1 - zero_at] |= weight != 0.0;
        }
        set_squares(record, factor);
        summary.values[zero_at] = 0.0;
        summary.values[1 - zero_at] = atom;
        summary.hidden[0] = summary.hidden[1] = 0.0;
        if (!any[1])
            summary.resize(any[0] ? 1 : 0);
        else if (!any[0])
            summary.drop_front(1);
    }

    void read_any(std::uint32_t slot, const std::byte* record, const FeatureState* state,
                  double factor) {
        column_.reset(n_classes());
        if (state != nullptr && needs_summary())
            column_.load(*state, factor);
        else if (state != nullptr)
            column_.load_classes(*state, factor);
        if (n_bins_ == 0 && column_.counted != nullptr) move_cells();
        const double value = layout_.value(record);
        const double atom = SparsePage::has_atom(value) ? value : 0.0;
        const BlockColumn run = runs_.of(slot, n_classes());
        for (const ColumnRuns::Missing& item : runs_.missing())
            if (item.list == slot) {
                column_.missing[item.cls] += item.weight;
                column_.missing_squared[item.cls] += item.weight * item.weight;
            }
        std::vector<Weighed>& rows = scratch_.rows;  // the atom and the zeros
        rows.clear();
        sides_.assign(3 * n_classes(), 0.0);
        for (std::uint32_t c = 0; c < n_classes(); ++c) {
            const bool is_known = c < n_counted();
            const double at_atom = is_known ? layout_.weight(record, c) * factor : 0.0;
            double seen = at_atom;
            if (config_.moments) {
                Moments& moments = column_.moments[c];
                moments.merge(moments_of(run, c));
                moments.merge({at_atom, atom, 0.0, 0.0});
                seen = moments.weight;
            } else {
                for (std::size_t i = 0; i < column_.summary.size(); ++i)
                    seen += column_.summary.of(i)[c];
                seen += counted(c, 0, column_.n_cells());
                for (std::size_t i = run.begin[c]; i < run.begin[c + 1]; ++i) seen += run.weight(i);
            }
            column_.not_0[c] = seen;
            const double zeros = zero_weight(c, is_known ? layout_.rows(record, c) : 0, seen);
            if (config_.moments) column_.moments[c].merge({zeros, 0.0, 0.0, 0.0});
            if (!needs_summary()) continue;
            if (at_atom != 0.0) rows.push_back({atom, at_atom, c});
            if (zeros != 0.0) rows.push_back({0.0, zeros, c});
        }
        set_squares(record, factor);
        if (!needs_summary()) return;
        if (n_bins_ > 0 && only_sides_matter(run)) return;
        for (std::uint32_t c = 0; c < n_classes(); ++c)
            for (std::size_t i = run.begin[c]; i < run.begin[c + 1]; ++i)
                rows.push_back({run.value(i), run.weight(i), c});
        exact_summary(std::span(rows), n_classes(), scratch_.theirs);
        if (column_.summary.empty()) {
            std::swap(column_.summary, scratch_.theirs);
        } else {
            merge_summaries(column_.summary, scratch_.theirs, scratch_.merged);
            std::swap(column_.summary, scratch_.merged);
        }
    }

    // Makes the cells part of the summary.
    void move_cells() {
        column_.counted->load(n_classes(), scratch_.theirs);
        if (column_.factor != 1.0) scratch_.theirs.scale(column_.factor);
        merge_summaries(column_.summary, scratch_.theirs, scratch_.merged);
        std::swap(column_.summary, scratch_.merged);
        column_.counted = nullptr;
    }

    // Weight of a class in cells [begin, end).
    double counted(std::size_t cls, std::size_t begin, std::size_t end) const {
        const CountedCells* cells = column_.counted;
        return cells == nullptr || cls >= cells->n_classes()
                   ? 0.0
                   : cells->sum(cls, begin, end) * column_.factor;
    }

    // If 0 covers all ranks at which bins are cut, all edges are 0, and values need no order. The
    // summary is then the weight below, at and above 0, which is exact.
    bool only_sides_matter(const BlockColumn& run) {
        constexpr double kSlack = 1e-9;  // far more than rounding
        const std::size_t n = n_classes();
        const auto side_of = [n](double value) { return (value > 0.0 ? 2 : value == 0.0) * n; };
        for (const Weighed& row : scratch_.rows) sides_[side_of(row.value) + row.cls] += row.weight;
        double total = 0.0;
        for (const double zeros : std::span(sides_).subspan(n, n)) total += zeros;
        if (total == 0.0) return false;
        double hidden = column_.summary.most_hidden();
        if (column_.counted != nullptr) {
            // if zeros are values, the cell that begins at 0 may have zeros and others
            if (config_.absent_is_missing) return false;
            const std::size_t at_0 = column_.counted->map().index(0.0);
            for (std::size_t c = 0; c < n; ++c) {
                sides_[c] += counted(c, 0, at_0);
                sides_[2 * n + c] += counted(c, at_0, column_.n_cells());
            }
            hidden += column_.counted->fullest * column_.factor;
        }
        for (std::size_t i = 0; i < column_.summary.size(); ++i)
            for (std::size_t c = 0; c < n; ++c)
                sides_[side_of(column_.summary.values[i]) + c] += column_.summary.of(i)[c];
        for (std::size_t c = 0; c < n; ++c)
            for (std::size_t i = run.begin[c]; i < run.begin[c + 1]; ++i)
                sides_[side_of(run.data[i]) + c] += run.weight(i);
        double side[3] = {};
        for (std::size_t k = 0; k < sides_.size(); ++k) side[k / n] += sides_[k];
        total = side[0] + side[1] + side[2];
        if (n_bins_ > 1 &&
            !(side[0] < edge_goal(0, total, n_bins_) * (1.0 - kSlack) &&
              side[0] + side[1] > edge_goal(n_bins_ - 2, total, n_bins_) * (1.0 + kSlack)))
            return false;
        column_.counted = nullptr;
        column_.summary.reset(3, n);
        for (std::size_t k = 0; k < 3; ++k) {
            column_.summary.values[k] = static_cast<double>(k) - 1.0;
            column_.summary.hidden[k] = hidden;
        }
        std::copy(sides_.begin(), sides_.end(), column_.summary.weights.begin());
        return true;
    }

    // Weight of the rows of a class in which the feature was 0, given its other rows and the weight
    // of those that are not missing.
    double zero_weight(std::size_t cls, std::uint64_t rows, double seen) const {
        // Without this count a class in which the feature is never 0 would keep the rounding error
        // of the subtraction below as a zero weight.
        const ClassTotal& total = now_.totals[cls];
        if (total.rows <= rows || config_.absent_is_missing) return 0.0;
        const double zeros = total.weight - column_.missing[cls] - seen;
        // Likewise if the rows of 0 weigh very little or have faded. Whole weights are added
        // without rounding.
        return zeros == std::floor(zeros) || zeros > rounding_[cls] ? std::max(0.0, zeros) : 0.0;
    }
};

}  // namespace driftsieve
