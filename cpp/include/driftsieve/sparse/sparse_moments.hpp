#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/feature/column.hpp"
#include "driftsieve/sparse/column_shares.hpp"
#include "driftsieve/sparse/row_shapes.hpp"
#include "driftsieve/sparse/row_stamps.hpp"
#include "driftsieve/sparse/sparse_sums.hpp"

namespace driftsieve {

// The sparse rows of a bank without quantiles: see SparseSums.
//
// The weight of the zeros of a class is its total minus the sum for values other than 0; the weight
// of the ones is that sum minus the sum for values that are not 1 either. If a feature was never 0,
// or never 1, the result is exactly 0, because the same weights were added in the same order.
class SparseMoments {
  public:
    SparseMoments() = default;
    SparseMoments(const Config& config, std::size_t n_features)
        : config_(config), sums_(n_features, config.counts_missing(), config.absent_is_missing) {}

    std::size_t n_features() const { return sums_.n_columns(); }
    void grow(std::size_t n_features) { sums_.grow(n_features); }
    bool seen(std::size_t column) const { return sums_.seen(column); }
    // Whether rows fade or differ in weight.
    bool keeps_squares() const { return sums_.squares() != Squares::none; }

    // Number of classes of the rows that follow. Space is reserved for all of them at once, because
    // the number of columns with a slot from the beginning depends on it.
    void expect_classes(std::size_t n_classes) { n_expected_ = n_classes; }

    // Throws BadRows; the row may then be partly added. See SparseSums.
    template <class T, class Index>
    void add_row(std::uint32_t cls, double sample_weight, double time, const Fading& fading,
                 const SparseRow<T, Index>& row) {
        advance(fading.epoch_of(time));
        const double weight = sample_weight * fading.weight(time, ledger_.epoch);
        if (weight != 1.0 || fading.fades()) sums_.keep_squares(config_.squares());
        admit_classes(std::max<std::size_t>(cls + 1, n_expected_));
        ledger_.totals[cls].add(weight);
        sums_.add_row(cls, weight, row);
    }

    // Throws BadRows; some rows may then be added. See SparseSums.
    template <class Rows>
    void update(const Rows& rows, const RowInfo& info, const Fading& fading, unsigned n_threads) {
        if constexpr (requires { rows.indptr; })
            if (n_threads > 1 && add_parts(rows, info, fading, n_threads)) return;
        for_each_sparse_row(rows, config_.absent_is_missing, [&](std::size_t i, const auto& row) {
            add_row(info.classes[i], info.weight(i), info.time(i), fading, row);
        });
    }

    // Adds `other` (passed by value, because it is consumed), which has other rows. Its column j is
    // target[j] here.
    void merge(SparseMoments other, std::span<const std::size_t> target,
               std::span<const std::uint32_t> class_map, std::size_t n_classes) {
        if (other.ledger_.empty()) return;
        advance(other.ledger_.epoch);
        other.advance(ledger_.epoch);
        for (SparseMoments* store : {this, &other})
            if (keeps_squares() || other.keeps_squares())
                store->sums_.keep_squares(config_.squares());
        admit_classes(n_classes);
        ledger_.add(other.ledger_, class_map, n_classes, 1.0);
        for (std::size_t j = 0; j < other.n_features(); ++j)
            if (other.seen(j)) add_feature(target[j], other, j, class_map);
    }

    // The same rows, features [begin, begin + count) only.
    SparseMoments cut(std::size_t begin, std::size_t count) const {
        SparseMoments part(config_, count);
        part.sums_.keep_squares(sums_.squares());
        part.begin(ledger_, count);
        std::vector<std::uint32_t> same(ledger_.totals.size());
        for (std::size_t c = 0; c < same.size(); ++c) same[c] = static_cast<std::uint32_t>(c);
        for (std::size_t j = 0; j < count; ++j)
            if (seen(begin + j)) part.add_feature(j, *this, begin + j, same);
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading) {
        if (ledger_.empty()) return;
        const double factor = ledger_.shift(ticks, latest, fading);
        sums_.scale_to(ledger_.epoch, factor);
    }

    Ledger ledger(std::size_t n_classes) const { return ledger_.with_classes(n_classes); }

    // Returns a reader of features, including zeros: reader(lo, hi, fill, visit). If some features
    // never occurred, fill(column) is called first, for all features; then visit(j, column) for
    // each that occurred. Several threads may use it.
    auto reader(const Ledger& now, std::size_t /*n_bins*/) const {
        return [this, &now](std::size_t lo, std::size_t hi, const auto& fill, const auto& visit) {
            Column column;
            std::size_t unseen = lo;
            while (unseen < hi && seen(unseen)) ++unseen;
            if (unseen < hi) {
                column.reset(now.totals.size());
                for (std::size_t c = 0; c < now.totals.size(); ++c) {
                    if (config_.absent_is_missing)
                        column.set_observed(c, now.totals[c], 0.0, 0.0);
                    else
                        column.moments[c].merge({now.totals[c].weight, 0.0, 0.0, 0.0});
                }
                fill(column);
            }
            for (std::size_t j = lo; j < hi; ++j) {
                if (!seen(j)) continue;
                read(sums_.slot_of(j), now, column);
                visit(j, column);
            }
        };
    }

    std::size_t nbytes() const { return sums_.nbytes(); }
    // Upper bounds of nbytes(): see SparseBounds.
    const SparseMoments& bounds() const { return *this; }
    std::size_t settled_bytes(std::size_t, bool) const { return nbytes(); }

    // Upper bound of nbytes(), at most `before` now, with these rows, which are not read.
    std::size_t most_bytes_with(const Coming& coming, std::size_t before) const {
        const std::size_t n = std::min(coming.values, coming.columns);
        return before + sums_.bytes_with(coming, n, n) - std::min(before, nbytes());
    }

    // nbytes() after these rows.
    template <class Rows>
    std::size_t bytes_with(const Rows& rows, const Coming& coming) const {
        std::vector<std::size_t> late;
        std::vector<std::size_t> others;
        const bool zeros_count = config_.absent_is_missing;
        for_each_sparse_row(rows, zeros_count, [&](std::size_t, const auto& row) {
            for (std::size_t k = 0; k < row.count; ++k) {
                const auto column = static_cast<std::size_t>(row.columns[k]);
                const std::size_t slot = sums_.slot_of(column);
                if (slot == SparseSums::kNone && sums_.is_late(column, coming))
                    late.push_back(column);
                if ((row.values[k] != 0 || zeros_count) && row.values[k] != 1 &&
                    (slot == SparseSums::kNone || !sums_.has_others(slot)))
                    others.push_back(column);
            }
        });
        const auto distinct = [](std::vector<std::size_t>& columns) {
            std::sort(columns.begin(), columns.end());
            return static_cast<std::size_t>(std::unique(columns.begin(), columns.end()) -
                                            columns.begin());
        };
        return sums_.bytes_with(coming, distinct(late), distinct(others));
    }

    // Stores the features that have occurred, at the epoch of the ledger.
    template <class Archive>
    void archive(Archive& ar) {
        Stored stored;
        if constexpr (requires { ar.expect_end(); }) {
            stored.archive(ar, ledger_);
            take(stored);
        } else {
            store(stored);
            stored.archive(ar, ledger_);
        }
    }

    // Validates a deserialized state.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(this->n_features() == n_features);
        ledger_.check(n_classes, fading, now);
    }

  private:
    Config config_;
    Ledger ledger_;
    SparseSums sums_;
    std::size_t n_expected_ = 0;  // classes

    std::size_t n_squares() const { return count_of(sums_.squares(), ledger_.totals.size()); }

    // Adds rows of one epoch; each thread adds the values in a range of columns. Returns false,
    // without adding a value, if that is not possible or would be slower.
    template <class T, class Index>
    bool add_parts(const CsrView<T, Index>& rows, const RowInfo& info, const Fading& fading,
                   unsigned n_threads) {
        const ColumnShares shares = column_shares(rows, n_features(), kPage, n_threads);
        const RowStamps stamps(info, rows.n_rows, fading, ledger_);
        if (shares.size() == 1 || stamps.epoch(0) != stamps.epoch(stamps.size() - 1)) return false;
        advance(stamps.epoch(0));
        if (!stamps.all_1()) sums_.keep_squares(config_.squares());
        admit_classes(std::max(stamps.n_classes(), n_expected_));
        if (!sums_.is_direct(rows.n_stored)) return false;
        std::vector<SparseSums::Worker> workers(shares.size());
        parallel_chunks(shares.size(), 1, n_threads, [&](std::size_t k, std::size_t) {
            const std::size_t lo = shares.cuts[k];
            const std::size_t hi = shares.cuts[k + 1];
            for_each_sparse_row(rows, false, [&](std::size_t i, const auto& row) {
                sums_.add_part(stamps.cls(i), stamps.weight(i), part_of(row, lo, hi), lo, hi,
                               workers[k]);
            });
        });
        for (const SparseSums::Worker& worker : workers) sums_.join(worker);
        for (std::size_t i = 0; i < stamps.size(); ++i) stamps.add_to(ledger_, i);
        return true;
    }
    static constexpr std::size_t kPage = 64;  // columns

    void advance(std::int64_t epoch) {
        if (epoch <= ledger_.epoch) return;
        ledger_.advance(epoch);
        sums_.advance(epoch);
    }

    void admit_classes(std::size_t n_classes) {
        if (n_classes <= ledger_.totals.size()) return;
        ledger_.totals.resize(n_classes);
        sums_.admit_classes(n_classes, n_features());
    }

    // Adopts the ledger of rows whose n_seen features are added later. Reserves no more space than
    // these probably need.
    void begin(const Ledger& ledger, std::size_t n_seen) {
        if (ledger.empty()) return;
        ledger_ = ledger;
        sums_.advance(ledger.epoch);
        sums_.admit_classes(ledger.totals.size(), 2 * n_seen);
    }

    // Adds a feature of another store at the same epoch.
    void add_feature(std::size_t j, const SparseMoments& other, std::size_t theirs,
                     std::span<const std::uint32_t> class_map) {
        const std::size_t to = sums_.give_slot(j);
        const std::size_t from = other.sums_.slot_of(theirs);
        for (std::size_t c = 0; c < other.ledger_.totals.size(); ++c)
            sums_.add(to, class_map[c], other.sums_.of(from, c), other.sums_.has_others(from));
        for (std::size_t k = 0; k < other.n_squares(); ++k)
            sums_.add_squared(to, place_in(sums_.squares(), class_map[k]),
                              other.sums_.squared(from, k));
    }

    void read(std::size_t slot, const Ledger& now, Column& column) const {
        column.reset(now.totals.size());
        double missing = 0.0;
        for (std::size_t c = 0; c < now.totals.size(); ++c) {
            const ClassSums sums = sums_.of(slot, c);
            column.missing[c] = sums.missing;
            column.missing_squared[c] = sums.missing_squared;
            column.moments[c] = sums.others;
            column.moments[c].merge({std::max(0.0, sums.not_0 - sums.not_1), 1.0, 0.0, 0.0});
            column.not_0[c] = column.moments[c].weight;
            missing += sums.missing_squared;
            if (config_.absent_is_missing) {
                const double weight = column.moments[c].weight;
                column.set_observed(c, now.totals[c], weight,
                                    c < n_squares() ? sums_.squared(slot, c) : weight);
                continue;
            }
            column.moments[c].merge(
                {std::max(0.0, now.totals[c].weight - sums.not_0), 0.0, 0.0, 0.0});
        }
        if (sums_.squares() == Squares::together)
            column.not_0_squared = sums_.squared(slot, 0) - missing;
    }

    // Lists by class have one item for each class in the ledger.
    struct Stored {
        std::vector<std::uint32_t> place_of_feature;  // its place plus 1; 0: never occurred
        std::vector<double> not_0;                    // by place and class
        std::vector<std::uint32_t> others_of;  // by place: its place in `others` plus 1; 0: none
        std::vector<ClassState> others;        // by that and class
        std::vector<double> not_1;             // likewise; empty if no value is missing
        std::vector<double> squares;           // by place; empty if rows weigh 1

        template <class Archive>
        void archive(Archive& ar, Ledger& ledger) {
            ar(ledger, place_of_feature, not_0, others_of, others, not_1, squares);
        }
    };

    void store(Stored& out) const {
        const std::size_t n_classes = ledger_.totals.size();
        out.place_of_feature.resize(n_features());
        for (std::size_t j = 0; j < n_features(); ++j) {
            if (!seen(j)) continue;
            const std::size_t slot = sums_.slot_of(j);
            for (std::size_t c = 0; c < n_classes; ++c) {
                const ClassSums sums = sums_.of(slot, c);
                out.not_0.push_back(sums.not_0);
                if (!sums_.has_others(slot)) continue;
                out.others.push_back({sums.missing, sums.missing_squared, sums.others});
                if (config_.counts_missing()) out.not_1.push_back(sums.not_1);
            }
            for (std::size_t k = 0; k < n_squares(); ++k)
                out.squares.push_back(sums_.squared(slot, k));
            out.others_of.push_back(sums_.has_others(slot)
                                        ? static_cast<std::uint32_t>(out.others.size() / n_classes)
                                        : 0);
            out.place_of_feature[j] = static_cast<std::uint32_t>(out.others_of.size());
        }
    }

    void take(const Stored& stored) {
        const std::size_t n_classes = ledger_.totals.size();
        const std::size_t n_seen = stored.others_of.size();
        require(ledger_.empty() ? n_classes == 0 : n_classes > 0);
        require(stored.not_0.size() == n_seen * n_classes);
        require(stored.not_1.size() == (config_.counts_missing() ? stored.others.size() : 0));
        for (const double weight : stored.not_0) require_weight(weight);
        for (const double weight : stored.not_1) require_weight(weight);
        for (const double squared : stored.squares) require_weight(squared);
        require(stored.squares.empty() ||
                stored.squares.size() == n_seen * count_of(config_.squares(), n_classes));
        for (const ClassState& state : stored.others) state.check();
        sums_ = SparseSums(stored.place_of_feature.size(), config_.counts_missing(),
                           config_.absent_is_missing);
        if (!stored.squares.empty()) sums_.keep_squares(config_.squares());
        begin(Ledger(ledger_), n_seen);
        std::size_t place = 0;
        std::size_t n_others = 0;
        for (std::size_t j = 0; j < n_features(); ++j) {
            if (stored.place_of_feature[j] == 0) continue;
            require(place < n_seen && stored.place_of_feature[j] == place + 1);
            const bool has_others = stored.others_of[place] != 0;
            require(!has_others || (stored.others_of[place] == n_others + 1 &&
                                    (n_others + 1) * n_classes <= stored.others.size()));
            const std::size_t slot = sums_.give_slot(j);
            for (std::size_t c = 0; c < n_classes; ++c) {
                ClassSums sums;
                sums.not_0 = stored.not_0[place * n_classes + c];
                const std::size_t at = n_others * n_classes + c;
                if (has_others) {
                    sums.missing = stored.others[at].missing;
                    sums.missing_squared = stored.others[at].missing_squared;
                    sums.others = stored.others[at].moments;
                    if (config_.counts_missing()) sums.not_1 = stored.not_1[at];
                }
                sums_.add(slot, c, sums, has_others);
            }
            for (std::size_t k = 0; k < n_squares(); ++k)
                sums_.add_squared(slot, k, stored.squares[place * n_squares() + k]);
            ++place;
            n_others += has_others ? 1 : 0;
        }
        require(place == n_seen && n_others * n_classes == stored.others.size());
    }
};

}  // namespace driftsieve
