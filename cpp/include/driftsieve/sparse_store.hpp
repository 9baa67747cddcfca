#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "driftsieve/parallel.hpp"
#include "driftsieve/rows.hpp"
#include "driftsieve/sparse_feature.hpp"

namespace driftsieve {

// Features that are 0 in most rows. Zeros are never pushed: the zero weight of a feature in a class
// is what the class weighs less the weight of its other values, since fading is linear. So a
// feature that is first seen late has the right zeros behind it, at no cost.
//
// Most sparse features have one non-zero value only (1, for words and flags). The first value a
// feature shows becomes its *atom*, and rows that repeat it cost one addition. Other values go to a
// log, which is sorted by feature and handed to the features when it is full: a feature is touched
// once a log, not once a value. Features never seen cost 4 bytes.
//
// Every decision depends on the rows alone, never on the edges of a batch.
class SparseStore {
  public:
    SparseStore() = default;
    SparseStore(const Config& config, std::size_t n_features)
        : config_(config), slot_of_column_(n_features, 0) {}

    std::size_t n_features() const { return slot_of_column_.size(); }
    void grow(std::size_t n_features) { slot_of_column_.resize(n_features, 0); }

    // One row: visit(push) calls push(column, value) for its entries.
    template <class Visit>
    void add_row(std::uint32_t cls, double sample_weight, double time, const Fading& fading,
                 unsigned n_threads, const Visit& visit) {
        advance(fading.epoch_of(time), n_threads);
        const double weight = sample_weight * fading.weight(time, ledger_.epoch);
        admit_classes(cls + 1);
        ledger_.totals[cls].add(weight);
        visit([&](std::size_t column, double value) {
            if (value == 0.0) return;
            const std::size_t slot = slot_of(column);
            Atom& atom = atoms_[slot];
            ++atom.rows;
            if (atom.value == 0.0 && !std::isnan(value)) atom.value = value;
            if (value == atom.value) {
                atom_weights(slot)[cls] += weight;
            } else {
                log_.push_back({static_cast<std::uint32_t>(slot), cls, value, weight});
            }
        });
        if (log_.size() >= kLogSize) drain(n_threads);
    }

    // `other` (taken by value: it is used up) saw other rows; its column j is our target[j].
    void merge(SparseStore other, std::span<const std::size_t> target,
               std::span<const std::uint32_t> class_map, std::size_t n_classes,
               unsigned n_threads) {
        if (other.ledger_.empty()) return;
        other.drain(n_threads);
        advance(other.ledger_.epoch, n_threads);
        const double theirs = Fading::rebase_factor(ledger_.epoch - other.ledger_.epoch);
        admit_classes(n_classes);
        ledger_.add(other.ledger_, class_map, n_classes, theirs);
        Scratch scratch;
        for (std::size_t theirs_slot = 0; theirs_slot < other.atoms_.size(); ++theirs_slot) {
            const Atom& atom = other.atoms_[theirs_slot];
            const std::size_t slot = slot_of(target[other.column_of_slot_[theirs_slot]]);
            Atom& ours = atoms_[slot];
            ours.rows += atom.rows;
            if (ours.value == 0.0) ours.value = atom.value;
            const auto push = [&](std::uint32_t cls, double value, double weight) {
                if (value == ours.value)
                    atom_weights(slot)[class_map[cls]] += weight * theirs;
                else
                    log_.push_back(
                        {static_cast<std::uint32_t>(slot), class_map[cls], value, weight * theirs});
            };
            const double* weights = other.atom_weights(theirs_slot);
            for (std::uint32_t c = 0; c < other.ledger_.totals.size(); ++c)
                if (weights[c] != 0.0) push(c, atom.value, weights[c]);
            if (atom.rest == 0) continue;
            SparseFeature& rest = other.rests_[atom.rest - 1];
            rest.rebase(other.ledger_.epoch, scratch.ours);
            for (const LoggedValue& item : rest.pending) push(item.cls, item.value, item.weight);
            rest.state.scale(theirs, scratch.ours);
            rest_of(slot).state.merge(rest.state, class_map, ledger_.totals, config_, scratch);
        }
        drain(n_threads);
    }

    // The same rows, features [begin, begin + count) only.
    SparseStore cut(std::size_t begin, std::size_t count) const {
        SparseStore part(config_, count);
        part.ledger_ = ledger_;
        part.stride_ = stride_;
        std::vector<std::uint32_t> new_slot(atoms_.size(), 0);  // plus 1
        for (std::size_t slot = 0; slot < atoms_.size(); ++slot) {
            const std::size_t column = column_of_slot_[slot];
            if (column < begin || column >= begin + count) continue;
            part.column_of_slot_.push_back(column - begin);
            part.atoms_.push_back(atoms_[slot]);
            const double* weights = atom_weights_.data() + slot * stride_;
            part.atom_weights_.insert(part.atom_weights_.end(), weights, weights + stride_);
            new_slot[slot] = static_cast<std::uint32_t>(part.atoms_.size());
            part.slot_of_column_[column - begin] = new_slot[slot];
            if (atoms_[slot].rest == 0) continue;
            part.rests_.push_back(rests_[atoms_[slot].rest - 1]);
            for (LoggedValue& item : part.rests_.back().pending) item.slot = new_slot[slot] - 1;
            part.atoms_.back().rest = static_cast<std::uint32_t>(part.rests_.size());
        }
        for (LoggedValue item : log_) {
            if (new_slot[item.slot] == 0) continue;
            item.slot = new_slot[item.slot] - 1;
            part.log_.push_back(item);
        }
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, const Fading& fading, unsigned n_threads) {
        if (ledger_.empty()) return;
        drain(n_threads);
        for (std::size_t slot = 0; slot < atoms_.size(); ++slot) atom_weights(slot);
        Entries scratch;
        for (SparseFeature& rest : rests_) rest.rebase(ledger_.epoch, scratch);
        const double factor = ledger_.shift(ticks, fading);
        for (Atom& atom : atoms_) atom.epoch = ledger_.epoch;
        for (double& weight : atom_weights_) weight *= factor;
        for (SparseFeature& rest : rests_) {
            rest.epoch = ledger_.epoch;
            for (LoggedValue& item : rest.pending) item.weight *= factor;
            rest.state.scale(factor, scratch);
        }
    }

    Ledger ledger(std::size_t n_classes) const {
        Ledger result = ledger_;
        result.totals.resize(n_classes);
        return result;
    }

    // The log as reading wants it. Made once a freeze: reading never changes the store.
    std::vector<LoggedValue> sorted_log() const {
        std::vector<LoggedValue> log = log_;
        std::vector<LoggedValue> scratch;
        sort_by_slot(log, scratch);
        return log;
    }

    // Features [lo, hi), zeros included: visit(j, column) for each.
    template <class Visit>
    void read(std::size_t lo, std::size_t hi, const Ledger& now, std::span<const LoggedValue> log,
              const Visit& visit) const {
        Column column;
        Entries scratch;
        Entries exact;
        for (std::size_t j = lo; j < hi; ++j) {
            read(j, now, log, column, scratch, exact);
            visit(j, column);
        }
    }

    void read(std::size_t j, const Ledger& now, std::span<const LoggedValue> log, Column& column,
              Entries& scratch, Entries& exact) const {
        const std::size_t n_classes = now.totals.size();
        column.reset(n_classes);
        std::uint64_t zero_rows = now.rows();
        if (slot_of_column_[j] != 0) {
            const std::uint32_t slot = slot_of_column_[j] - 1;
            const Atom& atom = atoms_[slot];
            zero_rows -= atom.rows;
            SparseFeature logged{ledger_.epoch, logged_of(slot, log), {}};
            if (atom.rest != 0) {
                const SparseFeature& rest = rests_[atom.rest - 1];
                rest.read(Fading::rebase_factor(ledger_.epoch - rest.epoch), config_, column, exact,
                          scratch);
            }
            if (!logged.pending.empty()) {
                Column late;
                late.reset(n_classes);
                logged.read(1.0, config_, late, exact, scratch);
                for (std::uint32_t c = 0; c < n_classes; ++c) {
                    column.missing[c] += late.missing[c];
                    column.add(c, late.moments[c], late.entries[c], scratch);
                }
            }
            const double factor = Fading::rebase_factor(ledger_.epoch - atom.epoch);
            for (std::uint32_t c = 0; c < std::min(n_classes, stride_); ++c)
                add_value(column, c, atom.value, atom_weights_[slot * stride_ + c] * factor,
                          scratch);
        }
        // Without this count a feature that is never 0 would keep the rounding error of the
        // subtraction below as a zero weight.
        if (zero_rows == 0) return;
        for (std::uint32_t c = 0; c < n_classes; ++c) {
            const double seen = config_.moments ? column.moments[c].weight : column.weight(c);
            add_value(column, c, 0.0,
                      std::max(0.0, now.totals[c].weight - column.missing[c] - seen), scratch);
        }
    }

    std::size_t nbytes() const {
        std::size_t bytes =
            slot_of_column_.capacity() * sizeof(std::uint32_t) +
            column_of_slot_.capacity() * sizeof(std::size_t) + atoms_.capacity() * sizeof(Atom) +
            atom_weights_.capacity() * sizeof(double) + rests_.capacity() * sizeof(SparseFeature) +
            (log_.capacity() + log_scratch_.capacity()) * sizeof(LoggedValue);
        for (const SparseFeature& rest : rests_) bytes += rest.nbytes();
        return bytes;
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(ledger_, slot_of_column_, column_of_slot_, stride_, atoms_, atom_weights_, rests_, log_);
    }

    // What has come from bytes is believed only after this.
    void check(std::size_t n_features, std::size_t n_classes) const {
        require(slot_of_column_.size() == n_features && ledger_.sound(n_classes));
        require(column_of_slot_.size() == atoms_.size());
        require(stride_ >= ledger_.totals.size() && stride_ <= 2 * n_classes + 2);
        require(atom_weights_.size() == atoms_.size() * stride_);
        std::size_t seen = 0;
        for (const std::uint32_t slot : slot_of_column_) seen += slot != 0;
        require(seen == atoms_.size());
        std::vector<bool> taken(rests_.size(), false);
        for (std::size_t slot = 0; slot < atoms_.size(); ++slot) {
            require(column_of_slot_[slot] < n_features);
            require(slot_of_column_[column_of_slot_[slot]] == slot + 1);
            require(atoms_[slot].epoch <= ledger_.epoch);
            const std::uint32_t rest = atoms_[slot].rest;
            if (rest == 0) continue;
            require(rest <= rests_.size() && !taken[rest - 1]);
            taken[rest - 1] = true;
        }
        for (const SparseFeature& rest : rests_) {
            require(rest.epoch <= ledger_.epoch);
            rest.state.check(ledger_.totals.size());
            check_values(rest.pending);
        }
        check_values(log_);
    }

  private:
    static constexpr std::size_t kLogSize = std::size_t{1} << 17;

    struct Atom {
        double value = 0.0;      // 0: none yet
        std::uint64_t rows = 0;  // rows with any value but 0, missing ones included
        std::int64_t epoch = 0;  // of the weights
        std::uint32_t rest = 0;  // position in rests_ plus 1; 0: the atom is all there is

        template <class Archive>
        void archive(Archive& ar) {
            ar(value, rows, epoch, rest);
        }
    };

    Config config_;
    Ledger ledger_;
    std::vector<std::uint32_t> slot_of_column_;  // plus 1; 0: never seen
    std::vector<std::size_t> column_of_slot_;
    std::size_t stride_ = 0;  // classes there is room for in atom_weights_
    std::vector<Atom> atoms_;
    std::vector<double> atom_weights_;
    std::vector<SparseFeature> rests_;
    std::vector<LoggedValue> log_;
    std::vector<LoggedValue> log_scratch_;
    Entries rebase_scratch_;

    // The log holds weights of the present epoch, so it is handed out before the epoch changes.
    void advance(std::int64_t epoch, unsigned n_threads) {
        if (epoch <= ledger_.epoch) return;
        drain(n_threads);
        ledger_.advance(epoch);
    }

    void admit_classes(std::size_t n_classes) {
        if (n_classes > ledger_.totals.size()) ledger_.totals.resize(n_classes);
        if (n_classes <= stride_) return;
        const std::size_t wider = std::max<std::size_t>(2, std::bit_ceil(n_classes));
        std::vector<double> weights(atoms_.size() * wider, 0.0);
        for (std::size_t slot = 0; slot < atoms_.size(); ++slot)
            std::copy_n(atom_weights_.begin() + static_cast<std::ptrdiff_t>(slot * stride_),
                        stride_, weights.begin() + static_cast<std::ptrdiff_t>(slot * wider));
        atom_weights_.swap(weights);
        stride_ = wider;
    }

    std::size_t slot_of(std::size_t column) {
        std::uint32_t& slot = slot_of_column_[column];
        if (slot == 0) {
            atoms_.push_back({0.0, 0, ledger_.epoch, 0});
            atom_weights_.resize(atoms_.size() * stride_, 0.0);
            column_of_slot_.push_back(column);
            slot = static_cast<std::uint32_t>(atoms_.size());
        }
        return slot - 1;
    }

    // A sparse feature is rebased when it is next touched, never in a pass over all of them.
    double* atom_weights(std::size_t slot) {
        double* weights = atom_weights_.data() + slot * stride_;
        Atom& atom = atoms_[slot];
        if (atom.epoch != ledger_.epoch) {
            const double factor = Fading::rebase_factor(ledger_.epoch - atom.epoch);
            for (std::size_t c = 0; c < stride_; ++c) weights[c] *= factor;
            atom.epoch = ledger_.epoch;
        }
        return weights;
    }

    SparseFeature& rest_of(std::size_t slot) {
        std::uint32_t& rest = atoms_[slot].rest;
        if (rest == 0) {
            rests_.push_back({ledger_.epoch, {}, {}});
            rest = static_cast<std::uint32_t>(rests_.size());
        }
        rests_[rest - 1].rebase(ledger_.epoch, rebase_scratch_);
        return rests_[rest - 1];
    }

    void check_values(std::span<const LoggedValue> items) const {
        for (const LoggedValue& item : items)
            require(item.slot < atoms_.size() && item.cls < ledger_.totals.size() &&
                    item.weight >= 0.0);
    }

    // Hands the logged values to their features.
    void drain(unsigned n_threads) {
        if (log_.empty()) return;
        sort_by_slot(log_, log_scratch_);
        struct Run {
            std::size_t begin, end;
            std::uint32_t rest;
        };
        std::vector<Run> runs;
        for (std::size_t i = 0; i < log_.size();) {
            const std::size_t begin = i;
            const std::uint32_t slot = log_[i].slot;
            while (i < log_.size() && log_[i].slot == slot) ++i;
            rest_of(slot);  // may move rests_, so all of them are made before any is used
            runs.push_back({begin, i, atoms_[slot].rest - 1});
        }
        const std::size_t most_pending = std::max<std::size_t>(32, config_.exact_entries());
        parallel_chunks(runs.size(), 256, n_threads, [&](std::size_t lo, std::size_t hi) {
            Scratch scratch;
            for (std::size_t k = lo; k < hi; ++k) {
                SparseFeature& rest = rests_[runs[k].rest];
                for (std::size_t i = runs[k].begin; i < runs[k].end; ++i) {
                    rest.pending.push_back(log_[i]);
                    if (rest.pending.size() >= most_pending)
                        rest.fold(ledger_.totals, config_, scratch);
                }
            }
        });
        log_.clear();
    }

    static std::vector<LoggedValue> logged_of(std::uint32_t slot,
                                              std::span<const LoggedValue> log) {
        const auto range = std::ranges::equal_range(log, slot, {}, &LoggedValue::slot);
        return {range.begin(), range.end()};
    }

    void add_value(Column& column, std::uint32_t cls, double value, double weight,
                   Entries& scratch) const {
        if (weight == 0.0) return;
        const Entry entry{value, weight, 0.0};
        column.add(cls, config_.moments ? Moments{weight, value, 0.0} : Moments{},
                   config_.quantiles ? std::span<const Entry>(&entry, 1) : std::span<const Entry>{},
                   scratch);
    }
};

}  // namespace driftsieve
