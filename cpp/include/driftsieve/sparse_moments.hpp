#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/column.hpp"
#include "driftsieve/fading.hpp"
#include "driftsieve/rows.hpp"
#include "driftsieve/sparse_sums.hpp"

namespace driftsieve {

// What a bank without quantiles keeps of sparse rows: see SparseSums.
//
// The zeros of a class weigh what the class does less its sum of what was not 0, and the ones weigh
// that sum less what was not 1 either. A feature that was never 0, or never 1, has nothing left
// there: the same weights, added in the same order, give the same bits.
class SparseMoments {
  public:
    SparseMoments() = default;
    SparseMoments(const Config& config, std::size_t n_features)
        : config_(config), sums_(n_features, config.ignore_missing) {}

    // The state after the rows of `now`, which set() then tells of each of `n_seen` features.
    static SparseMoments after(const Ledger& now, const Config& config, std::size_t n_features,
                               std::size_t n_seen) {
        SparseMoments made(config, n_features);
        made.begin(now, n_seen);
        return made;
    }
    // Its zeros and ones become values like others.
    void set(std::size_t column, const Column& whole) {
        const std::size_t slot = sums_.give_slot(column);
        for (std::size_t c = 0; c < ledger_.totals.size(); ++c) {
            const double weight = ledger_.totals[c].weight;
            ClassSums sums{weight, weight, whole.missing[c], whole.moments[c]};
            if (!config_.ignore_missing) sums.others.weight = weight;  // but for rounding it is
            sums_.add(slot, c, sums, true);
        }
    }

    std::size_t n_features() const { return sums_.n_columns(); }
    void grow(std::size_t n_features) { sums_.grow(n_features); }
    bool seen(std::size_t column) const { return sums_.seen(column); }

    // Throws BadRows, the row half taken in: see SparseSums.
    template <class T, class Index>
    void add_row(std::uint32_t cls, double sample_weight, double time, const Fading& fading,
                 const SparseRow<T, Index>& row, unsigned /*n_threads*/) {
        advance(fading.epoch_of(time));
        const double weight = sample_weight * fading.weight(time, ledger_.epoch);
        admit_classes(cls + 1);
        ledger_.totals[cls].add(weight);
        sums_.add_row(cls, weight, row);
    }

    // `other` (taken by value: it is used up) saw other rows; its column j is our target[j].
    void merge(SparseMoments other, std::span<const std::size_t> target,
               std::span<const std::uint32_t> class_map, std::size_t n_classes,
               unsigned /*n_threads*/) {
        if (other.ledger_.empty()) return;
        advance(other.ledger_.epoch);
        other.advance(ledger_.epoch);
        admit_classes(n_classes);
        ledger_.add(other.ledger_, class_map, n_classes, 1.0);
        for (std::size_t j = 0; j < other.n_features(); ++j)
            if (other.seen(j)) add_feature(target[j], other, j, class_map);
    }

    // The same rows, features [begin, begin + count) only.
    SparseMoments cut(std::size_t begin, std::size_t count) const {
        SparseMoments part(config_, count);
        part.begin(ledger_, count);
        std::vector<std::uint32_t> same(ledger_.totals.size());
        for (std::size_t c = 0; c < same.size(); ++c) same[c] = static_cast<std::uint32_t>(c);
        for (std::size_t j = 0; j < count; ++j)
            if (seen(begin + j)) part.add_feature(j, *this, begin + j, same);
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading, unsigned /*n_threads*/) {
        if (ledger_.empty()) return;
        const double factor = ledger_.shift(ticks, latest, fading);
        sums_.scale_to(ledger_.epoch, factor);
    }

    Ledger ledger(std::size_t n_classes) const {
        Ledger result = ledger_;
        result.totals.resize(n_classes);
        return result;
    }

    // What reads features, zeros included: reader(lo, hi, fill, visit). Those never seen are all
    // alike: if there are any, first fill(column) is called, for all features; then
    // visit(j, column) for each that was seen. Several threads may use it.
    auto reader(std::size_t /*begin*/, std::size_t /*count*/, const Ledger& now) const {
        return [this, &now](std::size_t lo, std::size_t hi, const auto& fill, const auto& visit) {
            Column column;
            std::size_t unseen = lo;
            while (unseen < hi && seen(unseen)) ++unseen;
            if (unseen < hi) {
                column.reset(now.totals.size());
                for (std::size_t c = 0; c < now.totals.size(); ++c)
                    column.moments[c].merge({now.totals[c].weight, 0.0, 0.0, 0.0});
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

    // Stored are features that have been seen, as they stand at the ledger's epoch.
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

    // What has come from bytes is believed only after this.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(this->n_features() == n_features);
        ledger_.check(n_classes, fading);
        require(ledger_.empty() || !fading.fades() || ledger_.epoch <= fading.epoch_of(now));
    }

  private:
    Config config_;
    Ledger ledger_;
    SparseSums sums_;

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

    // With rows of which nothing is known, before n_seen features are told of: no more room is
    // taken than these make likely.
    void begin(const Ledger& ledger, std::size_t n_seen) {
        if (ledger.empty()) return;
        ledger_ = ledger;
        sums_.advance(ledger.epoch);
        sums_.admit_classes(ledger.totals.size(), 2 * n_seen);
    }

    // Adds what another store, at the same epoch, has of a feature.
    void add_feature(std::size_t j, const SparseMoments& other, std::size_t theirs,
                     std::span<const std::uint32_t> class_map) {
        const std::size_t to = sums_.give_slot(j);
        const std::size_t from = other.sums_.slot_of(theirs);
        for (std::size_t c = 0; c < other.ledger_.totals.size(); ++c)
            sums_.add(to, class_map[c], other.sums_.of(from, c), other.sums_.has_others(from));
    }

    void read(std::size_t slot, const Ledger& now, Column& column) const {
        column.reset(now.totals.size());
        for (std::size_t c = 0; c < now.totals.size(); ++c) {
            const ClassSums sums = sums_.of(slot, c);
            column.missing[c] = sums.missing;
            column.moments[c] = sums.others;
            column.moments[c].merge({std::max(0.0, sums.not_0 - sums.not_1), 1.0, 0.0, 0.0});
            column.moments[c].merge(
                {std::max(0.0, now.totals[c].weight - sums.not_0), 0.0, 0.0, 0.0});
        }
    }

    // Lists by class are as long as the ledger has classes.
    struct Stored {
        std::vector<std::uint32_t> place_of_feature;  // among those seen, plus 1; 0: never seen
        std::vector<double> not_0;                    // by place and class
        std::vector<std::uint32_t> others_of;         // by place: among others, plus 1; 0: none
        std::vector<ClassState> others;               // by that and class
        std::vector<double> not_1;                    // likewise; none where nothing is missing

        template <class Archive>
        void archive(Archive& ar, Ledger& ledger) {
            ar(ledger, place_of_feature, not_0, others_of, others, not_1);
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
                out.others.push_back({sums.missing, sums.others});
                if (config_.ignore_missing) out.not_1.push_back(sums.not_1);
            }
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
        require(stored.not_1.size() == (config_.ignore_missing ? stored.others.size() : 0));
        for (const double weight : stored.not_0) require_weight(weight);
        for (const double weight : stored.not_1) require_weight(weight);
        for (const ClassState& state : stored.others) state.check();
        sums_ = SparseSums(stored.place_of_feature.size(), config_.ignore_missing);
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
                ClassSums sums{stored.not_0[place * n_classes + c], 0.0, 0.0, {}};
                const std::size_t at = n_others * n_classes + c;
                if (has_others) {
                    sums.missing = stored.others[at].missing;
                    sums.others = stored.others[at].moments;
                    if (config_.ignore_missing) sums.not_1 = stored.not_1[at];
                }
                sums_.add(slot, c, sums, has_others);
            }
            ++place;
            n_others += has_others ? 1 : 0;
        }
        require(place == n_seen && n_others * n_classes == stored.others.size());
    }
};

}  // namespace driftsieve
