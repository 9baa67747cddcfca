#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "driftsieve/parallel.hpp"
#include "driftsieve/room.hpp"
#include "driftsieve/rows.hpp"
#include "driftsieve/sparse_feature.hpp"
#include "driftsieve/sparse_reader.hpp"
#include "driftsieve/sparse_records.hpp"

namespace driftsieve {

// Features that are 0 in most rows. Zeros are never pushed: the zero weight of a feature in a class
// is what the class weighs less the weight of its other values, since fading is linear. So a
// feature that is first seen late has the right zeros behind it, at no cost.
//
// Most sparse features have one non-zero value only (1, for words and flags). The first value a
// feature shows becomes its *atom*, and rows that repeat it cost one addition. Other values go to a
// log, which is sorted by feature and handed to the features when it is full: a feature is touched
// once a log, not once a value. Features never seen cost 8 bytes.
//
// Every decision depends on the rows alone, never on the edges of a batch.
class SparseStore {
  public:
    SparseStore() = default;
    SparseStore(const Config& config, std::size_t n_features)
        : config_(config), records_(n_features) {}

    std::size_t n_features() const { return records_.n_columns(); }
    std::size_t n_classes() const { return ledger_.totals.size(); }
    void grow(std::size_t n_features) { records_.grow(n_features); }
    bool seen(std::size_t column) const { return records_.seen(column); }

    // One row, which is canonical. Runs without branches but for rare events, and asks for the
    // records it will need next: a record is seldom in the nearest cache.
    template <class T, class Index>
    void add_row(std::uint32_t cls, double sample_weight, double time, const Fading& fading,
                 const SparseRow<T, Index>& row, unsigned n_threads) {
        const auto [values, columns, count, more, is_canonical] = row;
        advance(fading.epoch_of(time), n_threads);
        const double weight = sample_weight * fading.weight(time, ledger_.epoch);
        admit_classes(cls + 1);
        ledger_.totals[cls].add(weight);
        if (log_.size() < log_end_ + count) log_.resize(log_end_ + count + kLogSize / 8);
        const std::uint32_t rows = ledger_.totals[cls].rows <= SparseRecords::kMostRows;
        const std::size_t n_slots = records_.n_slots();
        const std::size_t in_order = records_.count_in_order(columns, count);
        records_.rebase_in_order(columns, in_order);
        if (missed_.size() < in_order) missed_.resize(in_order);
        const std::size_t n_missed = records_.add_in_order(
            cls, weight, rows, values, columns, in_order, count - in_order + more, missed_.data());
        for (const std::uint32_t k : std::span(missed_).first(n_missed))
            add_other({static_cast<std::uint32_t>(columns[k]), cls, static_cast<double>(values[k]),
                       weight},
                      rows);
        LoggedValue* log = log_.data() + log_end_;
        for (std::size_t k = in_order; k < count;) {
            const SparseRecords::OfRow records(records_, cls, weight, rows);
            for (; k < count; ++k) {
                if (k + 2 * kAhead < count + more) [[likely]] {
                    records.prefetch_entry(static_cast<std::size_t>(columns[k + 2 * kAhead]));
                    records.prefetch_record(static_cast<std::size_t>(columns[k + kAhead]));
                }
                const double value = static_cast<double>(values[k]);
                const auto bits = std::bit_cast<std::uint64_t>(value);
                const std::uint64_t entry = records.entry(static_cast<std::size_t>(columns[k]));
                if (bits << 1 == 0) [[unlikely]]  // 0 or -0
                    continue;
                if (!records.is_current(entry)) [[unlikely]]
                    break;
                *log = {SparseRecords::slot_in(entry), cls, value, weight};
                log += !records.add(entry, bits);
            }
            // its records may have moved, so they are looked at anew
            if (k < count) records_.admit(static_cast<std::size_t>(columns[k]), values[k]);
        }
        log_end_ = static_cast<std::size_t>(log - log_.data());
        put_in_order(n_slots);
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
        const std::size_t n_slots = records_.n_slots();
        Scratch scratch;
        for (std::uint32_t from = 0; from < other.records_.n_slots(); ++from) {
            if (other.records_.is_blank(from)) continue;
            other.records_.rebase(from);
            const double atom = other.records_.atom(from);
            const std::uint32_t slot = records_.admit(target[other.records_.column_of(from)], atom);
            const auto push = [&](std::uint32_t cls, double value, double weight) {
                if (value == records_.atom(slot))
                    records_.add(slot, class_map[cls], weight * theirs, 0);
                else
                    push_log({slot, class_map[cls], value, weight * theirs});
            };
            for (std::uint32_t c = 0; c < other.ledger_.totals.size(); ++c) {
                records_.add(slot, class_map[c], 0.0, other.records_.rows(from, c));
                const double weight = other.records_.weight(from, c);
                if (weight != 0.0) push(c, atom, weight);
            }
            if (other.records_.rest(from) == 0) continue;
            SparseFeature& rest = other.rests_[other.records_.rest(from) - 1];
            rest.rebase(other.ledger_.epoch, scratch.ours);
            for (const LoggedValue& item : rest.pending) push(item.cls, item.value, item.weight);
            rest.state.scale(theirs, scratch.ours);
            rest_of(slot).state.merge(rest.state, class_map, ledger_.totals, config_, scratch);
        }
        drain(n_threads, false);
        put_in_order(n_slots);
    }

    // The same rows, features [begin, begin + count) only.
    SparseStore cut(std::size_t begin, std::size_t count) const {
        SparseStore part(config_, 0);
        part.ledger_ = ledger_;
        part.records_ = records_.cut(begin, count);
        const auto moved = [&](LoggedValue item) {
            item.slot = part.records_.slot_of(records_.column_of(item.slot) - begin);
            return item;
        };
        for (std::uint32_t slot = 0; slot < records_.n_slots(); ++slot) {
            if (records_.rest(slot) == 0 || records_.column_of(slot) - begin >= count) continue;
            part.rests_.push_back(rests_[records_.rest(slot) - 1]);
            for (LoggedValue& item : part.rests_.back().pending) item = moved(item);
            part.records_.rest(part.records_.slot_of(records_.column_of(slot) - begin)) =
                static_cast<std::uint32_t>(part.rests_.size());
        }
        for (const LoggedValue& item : log())
            if (records_.column_of(item.slot) - begin < count) part.push_log(moved(item));
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading, unsigned n_threads) {
        if (ledger_.empty()) return;
        drain(n_threads);
        Summary scratch;
        for (SparseFeature& rest : rests_) rest.rebase(ledger_.epoch, scratch);
        const double factor = ledger_.shift(ticks, latest, fading);
        records_.scale_to(ledger_.epoch, factor);
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

    // What reads these features, zeros included: reader(lo, hi, fill, visit), see SparseReader;
    // several threads may use it. Reading never changes the store.
    auto reader(std::size_t begin, std::size_t count, const Ledger& now) const {
        LargeRoom<LoggedValue> wanted;
        for (const LoggedValue& item : log())
            if (records_.column_of(item.slot) - begin < count) wanted.push_back(item);
        return [this, &now, log = SortedLog(std::move(wanted))](
                   std::size_t lo, std::size_t hi, const auto& fill, const auto& visit) {
            SparseReader(config_, records_, rests_, ledger_.epoch, now, log)
                .read(lo, hi, fill, visit);
        };
    }

    // Without the room that long lists keep: what is not reached takes no memory.
    std::size_t nbytes() const {
        std::size_t bytes = records_.nbytes() + rests_.size() * sizeof(SparseFeature) +
                            bytes_in(log_) + bytes_in(log_scratch_);
        for (const SparseFeature& rest : rests_) bytes += rest.nbytes();
        return bytes;
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(ledger_);
        records_.archive(ar, ledger_.totals.size(), ledger_.epoch);
        LargeRoom<LoggedValue> logged(log().begin(), log().end());
        ar(rests_, logged);
        if constexpr (requires { ar.expect_end(); }) {
            log_.swap(logged);
            log_end_ = log_.size();
        }
    }

    // What has come from bytes is believed only after this.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(records_.n_columns() == n_features);
        ledger_.check(n_classes, fading);
        require(ledger_.empty() || !fading.fades() || ledger_.epoch <= fading.epoch_of(now));
        std::vector<bool> taken(rests_.size(), false);
        for (std::size_t slot = 0; slot < records_.n_slots(); ++slot) {
            const std::size_t rest = records_.rest(slot);
            if (rest == 0) continue;
            require(rest <= rests_.size() && !taken[rest - 1]);
            taken[rest - 1] = true;
            for (const LoggedValue& item : rests_[rest - 1].pending) require(item.slot == slot);
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
    static constexpr std::size_t kAhead = 32;
    static constexpr std::size_t kFewPending = 32;
    static constexpr std::size_t kFewSlots = 1024;  // all in the nearest caches

    Config config_;
    Ledger ledger_;
    SparseRecords records_;
    std::vector<SparseFeature> rests_;
    LargeRoom<LoggedValue> log_;  // up to log_end_; the rest is room
    std::size_t log_end_ = 0;
    LargeRoom<LoggedValue> log_scratch_;
    Room<std::uint32_t> missed_;  // where a row has values that are not the atom
    Summary rebase_scratch_;

    std::span<const LoggedValue> log() const { return {log_.data(), log_end_}; }

    // So many values a feature gathers before they are summed up.
    std::size_t most_pending() const { return std::max(kFewPending, config_.exact_values()); }

    void push_log(const LoggedValue& item) {
        if (log_end_ == log_.size()) log_.resize(2 * log_end_ + 64);
        log_[log_end_++] = item;
    }

    // A value of a column in order, counted as a row, that is not the atom.
    void add_other(const LoggedValue& item, std::uint32_t rows) {
        if (item.value == 0.0) {
            records_.uncount(item.slot, item.cls, rows);
        } else if (records_.is_blank(item.slot) && !std::isnan(item.value)) {
            records_.admit(item.slot, item.value);
            records_.add(item.slot, item.cls, item.weight, 0);
        } else {
            if (records_.is_blank(item.slot)) records_.admit(item.slot, item.value);
            log_[log_end_++] = item;
        }
    }

    // Whenever the number of slots, which was `before`, has come to another power of 2.
    void put_in_order(std::size_t before) {
        const std::size_t now = records_.n_slots();
        if (now < kFewSlots || std::bit_width(now) == std::bit_width(before)) return;
        const std::vector<std::uint32_t> moved = records_.put_in_order();
        if (moved.empty()) return;
        for (std::size_t i = 0; i < log_end_; ++i) log_[i].slot = moved[log_[i].slot];
        for (SparseFeature& rest : rests_)
            for (LoggedValue& item : rest.pending) item.slot = moved[item.slot];
    }

    // The log holds weights of the present epoch, so it is handed out before the epoch changes.
    void advance(std::int64_t epoch, unsigned n_threads) {
        if (epoch <= ledger_.epoch) return;
        drain(n_threads);
        ledger_.advance(epoch);
        records_.advance(epoch);
    }

    void admit_classes(std::size_t n_classes) {
        if (n_classes > ledger_.totals.size()) ledger_.totals.resize(n_classes);
        records_.make_room_for(n_classes);
    }

    SparseFeature& rest_of(std::uint32_t slot) {
        std::uint32_t& rest = records_.rest(slot);
        if (rest == 0) {
            rests_.push_back({ledger_.epoch, {}, {}});
            rest = static_cast<std::uint32_t>(rests_.size());
        }
        SparseFeature& feature = rests_[rest - 1];
        feature.rebase(ledger_.epoch, rebase_scratch_);
        return feature;
    }

    void check_values(std::span<const LoggedValue> items) const {
        for (const LoggedValue& item : items) {
            require(item.slot < records_.n_slots() && item.cls < ledger_.totals.size());
            require_weight(item.weight);
            config_.check_value(item.value);
        }
    }

    // Hands the logged values to their features. They are new but for those of a merge: nothing was
    // pruned since their rows joined the totals.
    void drain(unsigned n_threads, bool are_new = true) {
        const std::span<LoggedValue> items =
            sorted_by_slot(std::span(log_).first(log_end_), log_scratch_);
        struct Run {
            std::size_t begin, end;
        };
        std::vector<Run> runs;
        for (std::size_t i = 0; i < items.size();) {
            const std::size_t begin = i;
            const std::uint32_t slot = items[i].slot;
            while (i < items.size() && items[i].slot == slot) ++i;
            rest_of(slot);  // made here, since making one may move the others
            runs.push_back({begin, i});
        }
        const std::size_t enough = most_pending();
        parallel_chunks(runs.size(), 256, n_threads, [&](std::size_t lo, std::size_t hi) {
            Scratch scratch;
            for (std::size_t k = lo; k < hi; ++k) {
                const auto logged = items.subspan(runs[k].begin, runs[k].end - runs[k].begin);
                SparseFeature& rest = rests_[records_.rest(logged[0].slot) - 1];
                // missing ones first: what may be hidden is a share of the weight without them
                const std::span<const LoggedValue> run = rest.take_missing(logged);
                if (rest.pending.size() + run.size() < enough)
                    rest.wait(run);
                else
                    rest.fold(run, are_new, ledger_.totals, config_, scratch);
            }
        });
        log_end_ = 0;
    }
};

}  // namespace driftsieve
