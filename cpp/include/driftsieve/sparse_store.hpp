#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "driftsieve/large_room.hpp"
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

    // One row: `count` values and their columns, after which there are `more` columns of rows to
    // come. Runs without branches but for rare events, and asks for the records it will need next:
    // a record is seldom in the nearest cache.
    template <class T, class Index>
    void add_row(std::uint32_t cls, double sample_weight, double time, const Fading& fading,
                 const T* values, const Index* columns, std::size_t count, std::size_t more,
                 unsigned n_threads) {
        advance(fading.epoch_of(time), n_threads);
        const double weight = sample_weight * fading.weight(time, ledger_.epoch);
        admit_classes(cls + 1);
        ledger_.totals[cls].add(weight);
        if (log_.size() < log_end_ + count) log_.resize(log_end_ + count + kLogSize / 8);
        LoggedValue* log = log_.data() + log_end_;
        // held in registers: what is written in the loop might otherwise be taken for these
        const std::uint32_t* slots = slot_of_column_.data();
        double* records = records_.data();
        const std::size_t stride = stride_;
        const double epoch = epoch_;
        const std::size_t of_class = kClasses + 2 * cls;
        const std::size_t known = count + more;
        for (std::size_t k = 0; k < count; ++k) {
            if (k + 2 * kAhead < known) [[likely]] {
                __builtin_prefetch(slots + columns[k + 2 * kAhead]);
                // as a number: a column without a slot has its record before the first one
                const std::size_t behind = slots[columns[k + kAhead]] * stride - stride;
                __builtin_prefetch(reinterpret_cast<const void*>(
                    reinterpret_cast<std::uintptr_t>(records) + behind * sizeof(double)));
            }
            const auto column = static_cast<std::size_t>(columns[k]);
            const double value = static_cast<double>(values[k]);
            if (value == 0.0) [[unlikely]]
                continue;
            if (slots[column] == 0) [[unlikely]] {
                open_slot(column, value);
                records = records_.data();
            }
            const std::uint32_t slot = slots[column] - 1;
            double* record = records + slot * stride;
            if (record[kEpoch] != epoch) [[unlikely]]
                rebase(record);
            const bool is_atom = value == record[kAtom];
            record[of_class + kWeight] += is_atom ? weight : 0.0;
            record[of_class + kRows] += 1.0;
            *log = {slot, cls, value, weight};
            log += !is_atom;
        }
        log_end_ = static_cast<std::size_t>(log - log_.data());
        if (log_end_ >= kLogSize) drain(n_threads);
    }

    // `other` (taken by value: it is used up) saw other rows; its column j is our target[j].
    void merge(SparseStore other, std::span<const std::size_t> target,
               std::span<const std::uint32_t> class_map, std::size_t n_classes,
               unsigned n_threads) {
        if (other.ledger_.empty()) return;
        drain(n_threads);
        other.drain(n_threads);
        advance(other.ledger_.epoch, n_threads);
        const double theirs = Fading::rebase_factor(ledger_.epoch - other.ledger_.epoch);
        admit_classes(n_classes);
        ledger_.add(other.ledger_, class_map, n_classes, theirs);
        Scratch scratch;
        for (std::size_t theirs_slot = 0; theirs_slot < other.n_slots(); ++theirs_slot) {
            double* record = other.records_.data() + theirs_slot * other.stride_;
            other.rebase(record);
            const std::size_t column = target[other.column_of_slot_[theirs_slot]];
            if (slot_of_column_[column] == 0) open_slot(column, record[kAtom]);
            const std::uint32_t slot = slot_of_column_[column] - 1;
            double* ours = records_.data() + slot * stride_;
            rebase(ours);
            const auto push = [&](std::uint32_t cls, double value, double weight) {
                if (value == ours[kAtom])
                    ours[kClasses + 2 * class_map[cls] + kWeight] += weight * theirs;
                else
                    push_log({slot, class_map[cls], value, weight * theirs});
            };
            for (std::uint32_t c = 0; c < other.ledger_.totals.size(); ++c) {
                const double* of_class = record + kClasses + 2 * c;
                ours[kClasses + 2 * class_map[c] + kRows] += of_class[kRows];
                if (of_class[kWeight] != 0.0) push(c, record[kAtom], of_class[kWeight]);
            }
            if (record[kRest] == 0.0) continue;
            SparseFeature& rest = other.rests_[static_cast<std::size_t>(record[kRest]) - 1];
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
        part.epoch_ = epoch_;
        part.stride_ = stride_;
        std::vector<std::uint32_t> new_slot(n_slots(), 0);  // plus 1
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            const std::size_t column = column_of_slot_[slot];
            if (column < begin || column >= begin + count) continue;
            const double* record = records_.data() + slot * stride_;
            part.column_of_slot_.push_back(column - begin);
            part.records_.insert(part.records_.end(), record, record + stride_);
            new_slot[slot] = static_cast<std::uint32_t>(part.n_slots());
            part.slot_of_column_[column - begin] = new_slot[slot];
            if (record[kRest] == 0.0) continue;
            part.rests_.push_back(rests_[static_cast<std::size_t>(record[kRest]) - 1]);
            for (LoggedValue& item : part.rests_.back().pending) item.slot = new_slot[slot] - 1;
            part.records_[(part.n_slots() - 1) * stride_ + kRest] =
                static_cast<double>(part.rests_.size());
        }
        for (LoggedValue item : log()) {
            if (new_slot[item.slot] == 0) continue;
            item.slot = new_slot[item.slot] - 1;
            part.push_log(item);
        }
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading, unsigned n_threads) {
        if (ledger_.empty()) return;
        drain(n_threads);
        Summary scratch;
        for (std::size_t slot = 0; slot < n_slots(); ++slot)
            rebase(records_.data() + slot * stride_);
        for (SparseFeature& rest : rests_) rest.rebase(ledger_.epoch, scratch);
        const double factor = ledger_.shift(ticks, latest, fading);
        epoch_ = static_cast<double>(ledger_.epoch);
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            double* record = records_.data() + slot * stride_;
            record[kEpoch] = epoch_;
            scale(record, factor);
        }
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

    // The log as reading features [begin, begin + count) wants it. Made once a freeze: reading
    // never changes the store.
    SortedLog sorted_log(std::size_t begin, std::size_t count) const {
        std::vector<LoggedValue> wanted;
        for (const LoggedValue& item : log())
            if (column_of_slot_[item.slot] - begin < count) wanted.push_back(item);
        return SortedLog(std::move(wanted));
    }

    // Features [lo, hi), zeros included: visit(j, column) for each. Those that were never seen are
    // all alike: after the first of them, i, repeat(j, i) is called instead.
    template <class Visit, class Repeat>
    void read(std::size_t lo, std::size_t hi, const Ledger& now, const SortedLog& log,
              const Visit& visit, const Repeat& repeat) const {
        Column column;
        Scratch scratch;
        std::size_t unseen = hi;
        for (std::size_t j = lo; j < hi; ++j) {
            if (slot_of_column_[j] == 0 && unseen < hi) {
                repeat(j, unseen);
                continue;
            }
            if (slot_of_column_[j] == 0) unseen = j;
            read(j, now, log, column, scratch);
            visit(j, column);
        }
    }

    // Without the room that long lists keep: what is not reached takes no memory.
    std::size_t nbytes() const {
        std::size_t bytes = slot_of_column_.size() * sizeof(std::uint32_t) +
                            column_of_slot_.size() * sizeof(std::size_t) +
                            records_.size() * sizeof(double) +
                            rests_.size() * sizeof(SparseFeature) +
                            (log_.size() + log_scratch_.size()) * sizeof(LoggedValue);
        for (const SparseFeature& rest : rests_) bytes += rest.nbytes();
        return bytes;
    }

    template <class Archive>
    void archive(Archive& ar) {
        std::vector<LoggedValue> logged(log().begin(), log().end());
        ar(ledger_, slot_of_column_, column_of_slot_, stride_, records_, rests_, logged);
        log_.swap(logged);
        log_end_ = log_.size();
        epoch_ = static_cast<double>(ledger_.epoch);
    }

    // What has come from bytes is believed only after this.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(slot_of_column_.size() == n_features);
        ledger_.check(n_classes, fading);
        require(ledger_.empty() || !fading.fades() || ledger_.epoch <= fading.epoch_of(now));
        require(stride_ >= kClasses && (stride_ - kClasses) / 2 >= ledger_.totals.size() &&
                (stride_ - kClasses) / 2 <= 2 * n_classes + 2);
        require(records_.size() % stride_ == 0 && records_.size() / stride_ == n_slots());
        std::size_t seen = 0;
        for (const std::uint32_t slot : slot_of_column_) seen += slot != 0;
        require(seen == n_slots());
        std::vector<bool> taken(rests_.size(), false);
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            require(column_of_slot_[slot] < n_features);
            require(slot_of_column_[column_of_slot_[slot]] == slot + 1);
            const double* record = records_.data() + slot * stride_;
            require(std::isfinite(record[kAtom]));
            require(record[kEpoch] <= epoch_ && record[kEpoch] > -0x1p54);
            for (std::size_t k = kClasses; k < stride_; ++k) require_weight(record[k]);
            const double rest = record[kRest];
            if (rest == 0.0) continue;
            require(rest >= 1.0 && rest <= static_cast<double>(rests_.size()));
            const auto position = static_cast<std::size_t>(rest) - 1;
            require(!taken[position]);
            taken[position] = true;
        }
        for (const SparseFeature& rest : rests_) {
            require(rest.epoch <= ledger_.epoch && rest.epoch > -(std::int64_t{1} << 54));
            rest.state.check(ledger_.totals.size());
            require(rest.pending.size() < most_pending());
            check_values(rest.pending);
        }
        check_values(log());
    }

  private:
    static constexpr std::size_t kLogSize = std::size_t{1} << 17;
    static constexpr std::size_t kAhead = 16;

    // A record is what the row loop needs of a feature, side by side and all doubles: its atom (0:
    // none yet), the epoch of its weights, its position in rests_ plus 1 (0: the atom is all there
    // is), and for each class the weight of the atom and the rows with any value but 0, missing
    // ones included.
    static constexpr std::size_t kAtom = 0, kEpoch = 1, kRest = 2, kClasses = 3;
    static constexpr std::size_t kWeight = 0, kRows = 1;

    Config config_;
    Ledger ledger_;
    double epoch_ = 0.0;                         // that of the ledger
    std::vector<std::uint32_t> slot_of_column_;  // plus 1; 0: never seen
    std::vector<std::size_t> column_of_slot_;
    std::size_t stride_ = kClasses;  // of records_: room for as many classes as there may be
    LargeRoom<double> records_;
    std::vector<SparseFeature> rests_;
    std::vector<LoggedValue> log_;  // up to log_end_; the rest is room
    std::size_t log_end_ = 0;
    std::vector<LoggedValue> log_scratch_;
    Summary rebase_scratch_;

    std::size_t n_slots() const { return column_of_slot_.size(); }
    std::size_t room_for_classes() const { return (stride_ - kClasses) / 2; }
    std::span<const LoggedValue> log() const { return {log_.data(), log_end_}; }

    std::size_t most_pending() const { return std::max<std::size_t>(32, config_.exact_values()); }

    void push_log(const LoggedValue& item) {
        if (log_end_ == log_.size()) log_.resize(2 * log_end_ + 64);
        log_[log_end_++] = item;
    }

    // The log holds weights of the present epoch, so it is handed out before the epoch changes.
    void advance(std::int64_t epoch, unsigned n_threads) {
        if (epoch <= ledger_.epoch) return;
        drain(n_threads);
        ledger_.advance(epoch);
        epoch_ = static_cast<double>(epoch);
    }

    void admit_classes(std::size_t n_classes) {
        if (n_classes > ledger_.totals.size()) ledger_.totals.resize(n_classes);
        if (kClasses + 2 * n_classes <= stride_) return;
        // whole cache lines, so that a record is never in two that it could have in one
        const std::size_t wider =
            (kClasses + 2 * std::max<std::size_t>(2, std::bit_ceil(n_classes)) + 7) / 8 * 8;
        LargeRoom<double> records(n_slots() * wider, 0.0);
        for (std::size_t slot = 0; slot < n_slots(); ++slot)
            std::copy_n(records_.begin() + static_cast<std::ptrdiff_t>(slot * stride_), stride_,
                        records.begin() + static_cast<std::ptrdiff_t>(slot * wider));
        records_.swap(records);
        stride_ = wider;
    }

    void open_slot(std::size_t column, double value) {
        column_of_slot_.push_back(column);
        slot_of_column_[column] = static_cast<std::uint32_t>(n_slots());
        records_.resize(n_slots() * stride_, 0.0);
        double* record = records_.data() + (n_slots() - 1) * stride_;
        record[kAtom] = std::isnan(value) ? 0.0 : value;
        record[kEpoch] = epoch_;
    }

    // A sparse feature is rebased when it is next touched, never in a pass over all of them.
    void rebase(double* record) const {
        scale(record, factor_of(record));
        record[kEpoch] = epoch_;
    }

    void scale(double* record, double factor) const {
        for (std::size_t k = kClasses + kWeight; k < stride_; k += 2) record[k] *= factor;
    }

    double factor_of(const double* record) const {
        return Fading::rebase_factor(ledger_.epoch - static_cast<std::int64_t>(record[kEpoch]));
    }

    SparseFeature& rest_of(std::size_t slot) {
        double& rest = records_[slot * stride_ + kRest];
        if (rest == 0.0) {
            rests_.push_back({ledger_.epoch, {}, {}});
            rest = static_cast<double>(rests_.size());
        }
        SparseFeature& feature = rests_[static_cast<std::size_t>(rest) - 1];
        feature.rebase(ledger_.epoch, rebase_scratch_);
        return feature;
    }

    void check_values(std::span<const LoggedValue> items) const {
        for (const LoggedValue& item : items) {
            require(item.slot < n_slots() && item.cls < ledger_.totals.size());
            require_weight(item.weight);
            config_.check_value(item.value);
        }
    }

    // Hands the logged values to their features.
    void drain(unsigned n_threads) {
        if (log_end_ == 0) return;
        log_.resize(log_end_);
        sort_by_slot(log_, log_scratch_);
        struct Run {
            std::size_t begin, end;
            SparseFeature* rest;
        };
        std::vector<Run> runs;
        for (std::size_t i = 0; i < log_.size();) {
            const std::size_t begin = i;
            const std::uint32_t slot = log_[i].slot;
            while (i < log_.size() && log_[i].slot == slot) ++i;
            rest_of(slot);
            runs.push_back({begin, i, nullptr});
        }
        // making one may have moved the others, so they are looked up when all are there
        for (Run& run : runs) run.rest = &rest_of(log_[run.begin].slot);
        const std::size_t most_pending = this->most_pending();
        parallel_chunks(runs.size(), 256, n_threads, [&](std::size_t lo, std::size_t hi) {
            Scratch scratch;
            for (std::size_t k = lo; k < hi; ++k) {
                SparseFeature& rest = *runs[k].rest;
                const std::span<const LoggedValue> items(&log_[runs[k].begin], &log_[runs[k].end]);
                // missing ones first: what may be hidden is a share of the weight without them
                for (const LoggedValue& item : items)
                    if (std::isnan(item.value)) rest.state.of(item.cls).missing += item.weight;
                for (const LoggedValue& item : items) {
                    if (std::isnan(item.value)) continue;
                    rest.pending.push_back(item);
                    if (rest.pending.size() == most_pending)
                        rest.fold(ledger_.totals, config_, scratch);
                }
            }
        });
        log_end_ = 0;
    }

    // One feature, its zeros included.
    void read(std::size_t j, const Ledger& now, const SortedLog& log, Column& column,
              Scratch& scratch) const {
        const std::size_t n_classes = now.totals.size();
        column.reset(n_classes);
        std::vector<Weighed>& rows = scratch.rows;  // what is in no summary
        rows.clear();
        const double* record = nullptr;
        if (slot_of_column_[j] != 0) {
            const std::uint32_t slot = slot_of_column_[j] - 1;
            record = records_.data() + slot * stride_;
            if (record[kRest] != 0.0) {
                const SparseFeature& rest = rests_[static_cast<std::size_t>(record[kRest]) - 1];
                const double factor = Fading::rebase_factor(ledger_.epoch - rest.epoch);
                column.load(rest.state, factor);
                SparseFeature::add(rest.pending, factor, config_, column, rows);
            }
            SparseFeature::add(log.of(slot), 1.0, config_, column, rows);
            const double factor = factor_of(record);
            for (std::uint32_t c = 0; c < std::min(n_classes, room_for_classes()); ++c)
                add_value(column, c, record[kAtom], record[kClasses + 2 * c + kWeight] * factor,
                          rows);
        }
        for (std::uint32_t c = 0; c < n_classes; ++c) {
            // Without this count a class in which the feature is never 0 would keep the rounding
            // error of the subtraction below as a zero weight.
            const double not_zero = record != nullptr && c < room_for_classes()
                                        ? record[kClasses + 2 * c + kRows]
                                        : 0.0;
            if (static_cast<double>(now.totals[c].rows) <= not_zero) continue;
            double seen = 0.0;
            if (config_.moments) {
                seen = column.moments[c].weight;
            } else {
                seen = column.weight(c);
                for (const Weighed& row : rows) seen += row.cls == c ? row.weight : 0.0;
            }
            add_value(column, c, 0.0,
                      std::max(0.0, now.totals[c].weight - column.missing[c] - seen), rows);
        }
        if (!config_.quantiles) return;
        exact_summary(std::span(rows), n_classes, scratch.theirs);
        if (column.summary.empty()) {
            std::swap(column.summary, scratch.theirs);
        } else {
            merge_summaries(column.summary, scratch.theirs, scratch.merged);
            std::swap(column.summary, scratch.merged);
        }
    }

    void add_value(Column& column, std::uint32_t cls, double value, double weight,
                   std::vector<Weighed>& rows) const {
        if (weight == 0.0) return;
        if (config_.moments) column.moments[cls].merge({weight, value, 0.0, 0.0});
        rows.push_back({value, weight, cls});
    }
};

}  // namespace driftsieve
