#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/column.hpp"
#include "driftsieve/fading.hpp"
#include "driftsieve/sparse_feature.hpp"
#include "driftsieve/sparse_records.hpp"
#include "driftsieve/value_log.hpp"

namespace driftsieve {

// Reads features of a sparse store as columns, their zeros included. Each thread has its own.
class SparseReader {
  public:
    // Records and rests are brought to `epoch`, at which `now` and the log stand.
    SparseReader(const Config& config, const SparseRecords& records,
                 std::span<const SparseFeature> rests, std::int64_t epoch, const Ledger& now,
                 const SortedLog& log)
        : config_(config), records_(records), rests_(rests), epoch_(epoch), now_(now), log_(log) {}

    // Features [lo, hi). Those never seen are all alike: if there are any, first fill(column) is
    // called, for all features; then visit(j, column) for each that was seen.
    template <class Fill, class Visit>
    void read(std::size_t lo, std::size_t hi, const Fill& fill, const Visit& visit) {
        std::size_t unseen = lo;
        while (unseen < hi && records_.seen(unseen)) ++unseen;
        if (unseen < hi) {
            read_flag(unseen);
            fill(column_);
        }
        for (std::size_t j = lo; j < hi; ++j) {
            if (j + 2 * kAhead < hi) prefetch(j);
            if (!records_.seen(j)) continue;
            if (is_flag(records_.slot_of(j)))
                read_flag(j);
            else
                read_any(records_.slot_of(j));
            visit(j, column_);
        }
    }

  private:
    static constexpr std::size_t kAhead = 32;

    const Config& config_;
    const SparseRecords& records_;
    std::span<const SparseFeature> rests_;
    std::int64_t epoch_;
    const Ledger& now_;
    const SortedLog& log_;
    Column column_;
    Scratch scratch_;

    // Slots are in the order in which columns were first seen, so that what is known of a feature
    // is seldom in the nearest cache: it is asked for in advance, what it leads to a while later.
    void prefetch(std::size_t j) const {
        if (records_.seen(j + 2 * kAhead)) records_.prefetch(records_.slot_of(j + 2 * kAhead));
        if (!records_.seen(j + kAhead)) return;
        const std::size_t rest = records_.rest(records_.slot_of(j + kAhead));
        if (rest != 0) __builtin_prefetch(&rests_[rest - 1]);
    }

    // Whether the atom is all the feature has shown beside 0, as most do.
    bool is_flag(std::uint32_t slot) const {
        return records_.atom(slot) != 0.0 && records_.rest(slot) == 0 && log_.of(slot).empty();
    }

    // Weight of the atom of slot in a class.
    double atom_weight(std::uint32_t slot, std::size_t cls) const {
        return records_.weight(slot, cls) * Fading::rebase_factor(epoch_ - records_.epoch(slot));
    }

    // What read_any() would find for a flag or a feature never seen, written down directly.
    void read_flag(std::size_t j) {
        const std::size_t n_classes = now_.totals.size();
        const bool seen = records_.seen(j);
        const std::uint32_t slot = seen ? records_.slot_of(j) : 0;
        const std::size_t n_counted = seen ? std::min(n_classes, records_.room_for_classes()) : 0;
        const double atom = seen ? records_.atom(slot) : 1.0;
        column_.reset(n_classes, 2);
        Summary& summary = column_.summary;
        const std::size_t zero_at = atom < 0.0 ? 1 : 0;
        bool any[2] = {};
        for (std::size_t c = 0; c < n_classes; ++c) {
            const double weight = c < n_counted ? atom_weight(slot, c) : 0.0;
            const std::uint64_t rows = c < n_counted ? records_.rows(slot, c) : 0;
            const double zeros = zero_weight(c, rows, weight);
            if (config_.moments) {
                column_.moments[c].merge({weight, atom, 0.0, 0.0});
                column_.moments[c].merge({zeros, 0.0, 0.0, 0.0});
            }
            summary.of(zero_at)[c] = zeros;
            summary.of(1 - zero_at)[c] = weight;
            any[zero_at] |= zeros != 0.0;
            any[1 - zero_at] |= weight != 0.0;
        }
        summary.values[zero_at] = 0.0;
        summary.values[1 - zero_at] = atom;
        summary.hidden[0] = summary.hidden[1] = 0.0;
        if (!any[1])
            summary.resize(any[0] ? 1 : 0);
        else if (!any[0])
            summary.drop_front(1);
    }

    void read_any(std::uint32_t slot) {
        const std::size_t n_classes = now_.totals.size();
        const std::size_t n_counted = std::min(n_classes, records_.room_for_classes());
        column_.reset(n_classes);
        std::vector<Weighed>& rows = scratch_.rows;  // what is in no summary
        rows.clear();
        if (records_.rest(slot) != 0) {
            const SparseFeature& rest = rests_[records_.rest(slot) - 1];
            const double factor = Fading::rebase_factor(epoch_ - rest.epoch);
            column_.load(rest.state, factor);
            SparseFeature::add(rest.pending, factor, config_, column_, rows);
        }
        SparseFeature::add(log_.of(slot), 1.0, config_, column_, rows);
        for (std::uint32_t c = 0; c < n_counted; ++c)
            add_value(c, records_.atom(slot), atom_weight(slot, c));
        for (std::uint32_t c = 0; c < n_classes; ++c) {
            double seen = 0.0;
            if (config_.moments) {
                seen = column_.moments[c].weight;
            } else {
                seen = column_.weight(c);
                for (const Weighed& row : rows) seen += row.cls == c ? row.weight : 0.0;
            }
            add_value(c, 0.0, zero_weight(c, c < n_counted ? records_.rows(slot, c) : 0, seen));
        }
        if (!config_.quantiles) return;
        exact_summary(std::span(rows), n_classes, scratch_.theirs);
        if (column_.summary.empty()) {
            std::swap(column_.summary, scratch_.theirs);
        } else {
            merge_summaries(column_.summary, scratch_.theirs, scratch_.merged);
            std::swap(column_.summary, scratch_.merged);
        }
    }

    // What the rows of a class weigh in which the feature was 0, given its other rows and the
    // weight of those that are not missing.
    double zero_weight(std::size_t cls, std::uint64_t rows, double seen) const {
        // Without this count a class in which the feature is never 0 would keep the rounding error
        // of the subtraction below as a zero weight.
        const ClassTotal& total = now_.totals[cls];
        if (total.rows <= rows) return 0.0;
        const double zeros = total.weight - column_.missing[cls] - seen;
        // Nor is there more to know where rows of 0 weigh next to nothing, or have faded. Whole
        // weights are added without rounding.
        const double rounding =
            kLastDigit * (4.0 + std::sqrt(static_cast<double>(total.rows))) * total.weight;
        return zeros == std::floor(zeros) || zeros > rounding ? std::max(0.0, zeros) : 0.0;
    }
    static constexpr double kLastDigit = std::numeric_limits<double>::epsilon();

    void add_value(std::uint32_t cls, double value, double weight) {
        if (weight == 0.0) return;
        if (config_.moments) column_.moments[cls].merge({weight, value, 0.0, 0.0});
        scratch_.rows.push_back({value, weight, cls});
    }
};

}  // namespace driftsieve
