#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/moments.hpp"
#include "driftsieve/base/squares.hpp"
#include "driftsieve/base/validate.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/memory/large_room.hpp"
#include "driftsieve/memory/room.hpp"

namespace driftsieve {

// Of one feature and one class.
struct ClassSums {
    double not_0 = 0.0;  // weight of the rows in which the value was not 0, or missing
    double not_1 = 0.0;  // weight of those in which it was not 1 either
    double missing = 0.0;
    double missing_squared = 0.0;
    Moments others;  // of the values other than 0 and 1
};

// Sums of sparse columns whose values are mostly 0 or 1. A value costs one addition; only values
// other than 1 are processed further.
//
// The sums of a column are in a *slot*, counted from 0. As many of the first columns as fit into 32
// MiB have slots from the beginning: column j has slot j. The others get a slot at their first
// value, and take 4 bytes until then. The results do not depend on where the sums are.
class SparseSums {
  public:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    SparseSums() = default;
    // `zeros_count`: a zero is a value like others, and a missing one is as if it were absent.
    SparseSums(std::size_t n_columns, bool counts_missing, bool zeros_count)
        : n_columns_(n_columns), counts_missing_(counts_missing), zeros_count_(zeros_count) {}

    std::size_t n_columns() const { return n_columns_; }
    void grow(std::size_t n_columns) {
        n_columns_ = n_columns;
        if (room_ > 0) lay_out(n_columns);
    }

    // Whether any row of a column was not 0. Its weight may have faded since.
    bool seen(std::size_t column) const {
        const std::size_t slot = slot_of(column);
        return slot != kNone && (has_weight(slot) || was_seen_[slot]);
    }
    std::size_t slot_of(std::size_t column) const {
        if (column < n_direct_) return column;
        if (column - n_direct_ >= slots_of_late_.size()) return kNone;
        return std::size_t{slots_of_late_[column - n_direct_]} - 1;  // 0 - 1 is kNone
    }
    bool has_others(std::size_t slot) const { return others_of_[slot] != 0; }
    Squares squares() const { return squares_; }

    // Sums of the present epoch.
    ClassSums of(std::size_t slot, std::size_t cls) const {
        ClassSums sums;
        if (cls >= n_classes_) return sums;
        const double factor = factor_of(slot);
        sums.not_0 = sums_[weight_at(slot, cls)] * factor;
        if (!has_others(slot)) return sums;
        sums.others = others_[others_at(slot) + cls];
        sums.others.scale(factor);
        sums.not_1 = sums.others.weight;
        if (!counts_missing_) return sums;
        sums.not_1 = missing_[others_at(slot) + cls].not_1 * factor;
        sums.missing = missing_[others_at(slot) + cls].weight * factor;
        sums.missing_squared = missing_[others_at(slot) + cls].squared * factor * factor;
        return sums;
    }

    // Squared weights of the rows in which the value was not 0, or missing: of all classes, or of
    // the `k`th of them.
    double squared(std::size_t slot, std::size_t k) const {
        const double factor = factor_of(slot);
        return sums_[square_at(slot, k)] * factor * factor;
    }
    void add_squared(std::size_t slot, std::size_t k, double squared) {
        sums_[square_at(slot, k)] += squared;
    }

    // Keeps squares from now on. All rows so far weigh 1 each and do not fade.
    void keep_squares(Squares squares) {
        if (squares != squares_) lay_sums_out(n_classes_, room_, squares);
    }

    // Reserves space for classes. The first time, at most that many columns get a slot.
    void admit_classes(std::size_t n_classes, std::size_t most_direct) {
        if (n_classes <= n_classes_) return;
        const std::size_t before = room_;
        const std::size_t room = room_for(n_classes);
        lay_sums_out(n_classes, room, squares_);
        if (room == before) return;
        widen(others_, before);
        widen(missing_, before);
        if (before == 0) others_.resize(room_);
        lay_out(most_direct);
    }

    // Moves to this epoch. Sums are rebased when they are next needed, never in a pass over all of
    // them.
    void advance(std::int64_t epoch) {
        epoch_ = epoch;
        n_current_ = 0;
    }

    // The slot of a column, which is made if necessary, with its sums at the present epoch.
    std::size_t give_slot(std::size_t column) {
        if (slot_of(column) == kNone) {
            add_slots(1);
            slots_of_late_[column - n_direct_] = static_cast<std::uint32_t>(n_slots());
        }
        rebase(slot_of(column));
        return slot_of(column);
    }

    struct Missing {
        double weight = 0.0;
        double squared = 0.0;
        double not_1 = 0.0;  // added together with `others`, in the order of the rows
    };

    // Buffers for one thread, and the moments of slots in which it was the first to find other
    // values.
    struct Worker {
        Room<std::int64_t> slots;         // of a row
        Room<double> found_values;        // of a row: those other than 0 and 1
        Room<std::uint32_t> found_slots;  // of these
        Room<std::uint32_t> places;       // of their moments
        Room<double> new_values;          // of the values whose moments are in new_others
        Room<std::uint32_t> new_places;
        std::vector<std::uint32_t> new_slots;
        std::vector<Moments> new_others;  // by new slot and class
        std::vector<Missing> new_missing;
    };

    // Whether all columns have slots from the beginning, with sums at the present epoch. Rebases
    // slots for that, but only if there are at most `most` of them.
    bool is_direct(std::size_t most) {
        if (zeros_count_ || n_columns_ > n_direct_) return false;
        if (n_current_ == epochs_.size()) return true;
        if (n_slots() > most) return false;
        for (std::size_t slot = 0; slot < n_slots(); slot += kStretch) rebase(slot);
        return true;
    }
    // Adds the part of a row in columns [lo, hi), which must be direct. Threads may add to
    // different columns at once, each with its own worker; join() each of them afterwards.
    template <class T, class Index>
    void add_part(std::uint32_t cls, double weight, const SparseRow<T, Index>& row, std::size_t lo,
                  std::size_t hi, Worker& worker) {
        if (row.count == 0) return;
        if (!row.is_canonical && static_cast<std::size_t>(row.columns[0]) < lo)
            throw NotCanonical();
        add_slots_of_row(cls, weight, row, std::min(hi, n_direct_), worker);
    }
    void join(const Worker& worker) {
        for (const std::uint32_t slot : worker.new_slots)
            others_of_[slot] += static_cast<std::uint32_t>(others_.size() / room_) - kNew;
        if (counts_missing_) missing_.resize(others_.size());  // place 0 is not used
        others_.insert(others_.end(), worker.new_others.begin(), worker.new_others.end());
        missing_.insert(missing_.end(), worker.new_missing.begin(), worker.new_missing.end());
    }

    // Throws BadRows if columns that are not validated are invalid, or if a value is infinite, or
    // missing and not allowed. The row may then be partly added.
    template <class T, class Index>
    void add_row(std::uint32_t cls, double weight, const SparseRow<T, Index>& row) {
        if (row.count == 0) return;
        if (zeros_count_) {
            add_given(cls, weight, row);
            return;
        }
        if (n_current_ == epochs_.size() &&
            static_cast<std::size_t>(row.columns[row.count - 1]) < n_direct_) {
            add_slots_of_row(cls, weight, row, n_direct_, worker_);
            join_own();
            return;
        }
        const std::array<Index, 2> all{0, static_cast<Index>(row.count)};
        if (!row.is_canonical && !rows_are_canonical(std::span(row.columns, row.count),
                                                     std::span<const Index>(all), n_columns_))
            throw NotCanonical();
        worker_.slots.resize(row.count);
        for (std::size_t k = 0; k < row.count; ++k)
            worker_.slots[k] =
                static_cast<std::int64_t>(give_slot(static_cast<std::size_t>(row.columns[k])));
        add_slots_of_row(cls, weight,
                         SparseRow<T, std::int64_t>{row.values, worker_.slots.data(), row.count, 0},
                         n_direct_, worker_);
        join_own();
    }

    // Adds the sums of other rows to a slot of give_slot().
    void add(std::size_t slot, std::size_t cls, const ClassSums& sums, bool with_others) {
        was_seen_[slot] = true;
        sums_[weight_at(slot, cls)] += sums.not_0;
        if (!with_others) return;
        const std::size_t at = give_others(slot) + cls;
        others_[at].merge(sums.others);
        if (!counts_missing_) return;
        missing_[at].weight += sums.missing;
        missing_[at].squared += sums.missing_squared;
        missing_[at].not_1 += sums.not_1;
    }

    // Multiplies all sums by a factor that converts them to `epoch`.
    void scale_to(std::int64_t epoch, double factor) {
        for (std::size_t slot = 0; slot < n_slots(); slot += kStretch) rebase(slot);
        scale(0, n_slots(), factor);
        epoch_ = epoch;
        std::fill(epochs_.begin(), epochs_.end(), epoch);
    }

    // nbytes() with `n_late` more columns that get slots late, and `others` (see ClassSums) in
    // `n_others` more columns.
    std::size_t bytes_with(const Coming& coming, std::size_t n_late, std::size_t n_others) const {
        const std::size_t room = std::max(room_, room_for(coming.classes));
        const std::size_t stride = stride_with(coming);
        const std::size_t direct =
            n_slots() == n_direct_ ? std::max(n_direct_, std::min(coming.columns, kDirect / stride))
                                   : n_direct_;
        const std::size_t slots = n_slots() - n_direct_ + direct + n_late;
        const std::size_t others = (room_ == 0 ? 1 : others_.size() / room_) + n_others;
        return whole_pages(slots * stride * sizeof(double)) +
               others * room * (sizeof(Moments) + (counts_missing_ ? sizeof(Missing) : 0)) +
               slots / 8 + (coming.columns - direct + slots) * sizeof(std::uint32_t) +
               (slots + kStretch - 1) / kStretch * sizeof(std::int64_t);
    }
    // Whether a column gets its slot only at its first value.
    bool is_late(std::size_t column, const Coming& coming) const {
        return slot_of(column) == kNone &&
               (n_slots() != n_direct_ ||
                column >= std::min(coming.columns, kDirect / stride_with(coming)));
    }

    // Without the spare capacity of long lists: what was never written to takes no memory.
    std::size_t nbytes() const {
        return bytes_in(sums_) + others_.size() * sizeof(Moments) +
               missing_.size() * sizeof(Missing) + was_seen_.size() / 8 +
               (slots_of_late_.size() + others_of_.size()) * sizeof(std::uint32_t) +
               epochs_.size() * sizeof(std::int64_t);
    }

  private:
    static constexpr std::size_t kDirect = std::size_t{1} << 22;  // sums
    static constexpr std::size_t kStretch = 64;

    std::size_t n_columns_ = 0;
    bool counts_missing_ = false;
    bool zeros_count_ = false;
    std::size_t n_classes_ = 0;
    std::size_t room_ = 0;  // classes that lists of other values have space for
    Squares squares_ = Squares::none;
    std::size_t stride_ = 0;  // of a slot
    std::int64_t epoch_ = 0;
    std::size_t n_direct_ = 0;
    std::vector<std::uint32_t> slots_of_late_;  // slots of the later columns, plus 1; 0: none yet
    LargeRoom<double> sums_;                    // by slot: squares, if any, and weight by class
    std::vector<bool> was_seen_;                // by slot
    std::vector<std::uint32_t> others_of_;      // by slot: place; 0: none
    std::vector<Moments> others_;               // by place and class; place 0 is not used
    std::vector<Missing> missing_;              // likewise; empty if no value may be missing
    // By kStretch slots: the epoch of their sums. And how many are at the present epoch.
    std::vector<std::int64_t> epochs_;
    std::size_t n_current_ = 0;
    Worker worker_;  // for rows that one thread adds

    static std::size_t room_for(std::size_t n_classes) {
        return std::max<std::size_t>(2, std::bit_ceil(n_classes));
    }

    // Number of sums of a slot; for two classes as few as possible, because they are rarely in the
    // nearest cache.
    static std::size_t stride_of(std::size_t n_classes, std::size_t room, Squares squares) {
        const std::size_t stride = count_of(squares, room) + std::max<std::size_t>(2, n_classes);
        return room == 2 ? stride : std::bit_ceil(stride);
    }
    std::size_t stride_with(const Coming& coming) const {
        const Squares wide = zeros_count_ ? Squares::by_class : Squares::together;
        const Squares squares = coming.is_wide ? wide : squares_;
        return stride_of(std::max(n_classes_, coming.classes),
                         std::max(room_, room_for(coming.classes)), squares);
    }

    std::size_t n_slots() const { return others_of_.size(); }
    bool has_weight(std::size_t slot) const {
        bool found = has_others(slot);
        for (std::size_t c = 0; c < n_classes_; ++c) found |= sums_[weight_at(slot, c)] != 0.0;
        return found;
    }
    std::size_t n_squares() const { return count_of(squares_, room_); }
    // Squares come before the weights. A single one is between the first two weights, so that it is
    // adjacent to both and can be added together with either.
    std::size_t square_at(std::size_t slot, std::size_t k) const {
        return slot * stride_ + (squares_ == Squares::together ? 1 : k);
    }
    std::size_t weight_at(std::size_t slot, std::size_t cls) const {
        const bool is_before = squares_ == Squares::together && cls == 0;
        return slot * stride_ + cls + (is_before ? 0 : n_squares());
    }
    double factor_of(std::size_t slot) const {
        return Fading::rebase_factor(epoch_ - epochs_[slot / kStretch]);
    }

    void lay_sums_out(std::size_t n_classes, std::size_t room, Squares squares) {
        SparseSums wide;
        wide.room_ = room;
        wide.squares_ = squares;
        wide.stride_ = stride_of(n_classes, room, squares);
        if (wide.stride_ != stride_ || squares != squares_) {
            wide.sums_.resize(n_slots() * wide.stride_, 0.0);
            for (std::size_t slot = 0; slot < n_slots(); ++slot) {
                for (std::size_t k = 0; k < n_squares(); ++k)
                    wide.add_squared(slot, k, sums_[square_at(slot, k)]);
                for (std::size_t c = 0; c < n_classes_; ++c) {
                    const double weight = sums_[weight_at(slot, c)];
                    wide.sums_[wide.weight_at(slot, c)] = weight;
                    if (squares != squares_) wide.add_squared(slot, place_in(squares, c), weight);
                }
            }
            sums_.swap(wide.sums_);
        }
        n_classes_ = n_classes;
        room_ = room;
        squares_ = squares;
        stride_ = wide.stride_;
    }

    // Widens rows of `before` items; the new items are empty.
    template <class Items>
    void widen(Items& items, std::size_t before) const {
        Items wide;
        if (before > 0) wide.resize(items.size() / before * room_, typename Items::value_type{});
        for (std::size_t i = 0; i < items.size(); ++i)
            wide[i / before * room_ + i % before] = items[i];
        items.swap(wide);
    }

    void lay_out(std::size_t most_direct) {
        const std::size_t wanted = std::min({n_columns_, kDirect / stride_, most_direct});
        if (n_slots() == n_direct_ && wanted > n_direct_) {  // no column got its slot late
            add_slots(wanted - n_direct_);
            n_direct_ = wanted;
        }
        slots_of_late_.resize(n_columns_ - n_direct_, 0);
    }

    void add_slots(std::size_t n) {
        others_of_.resize(n_slots() + n, 0);
        was_seen_.resize(n_slots(), false);
        sums_.resize(n_slots() * stride_, 0.0);
        for (; epochs_.size() * kStretch < n_slots(); ++n_current_) epochs_.push_back(epoch_);
    }

    // Position of the moments of the other values of a slot, class 0 first.
    std::size_t others_at(std::size_t slot) const { return others_of_[slot] * room_; }
    std::size_t give_others(std::size_t slot) {
        if (!has_others(slot)) [[unlikely]]
            add_others(slot);
        return others_at(slot);
    }
    // Separate, so that give_others() is short enough to be inlined.
    [[gnu::noinline]] void add_others(std::size_t slot) {
        others_of_[slot] = static_cast<std::uint32_t>(others_.size() / room_);
        others_.resize(others_.size() + room_);
        if (counts_missing_) missing_.resize(others_.size());
    }

    // Places from here on belong to a worker.
    static constexpr std::uint32_t kNew = std::uint32_t{1} << 31;

    void join_own() {
        if (worker_.new_slots.empty()) return;
        join(worker_);
        worker_.new_slots.clear();
        worker_.new_others.clear();
        worker_.new_missing.clear();
    }

    // Adds a row whose columns are slots below `end`.
    template <class T, class Index>
    void add_slots_of_row(std::uint32_t cls, double weight, const SparseRow<T, Index>& row,
                          std::size_t end, Worker& worker) {
        make_room_to_find(row.count, worker);
        const std::size_t n_found = std::get<AddWeight<T, Index>>(kernels().add_weight)(
            row, weight,
            {&sums_[weight_at(0, cls)],
             squares_ == Squares::none ? nullptr : &sums_[square_at(0, place_in(squares_, cls))],
             stride_, end},
            {worker.found_values.data(), worker.found_slots.data()});
        if (n_found == Kernels::kRefused) throw NotCanonical();
        add_found(cls, weight, n_found, worker);
    }

    // Adds all values of a canonical row, including its zeros.
    template <class T, class Index>
    void add_given(std::uint32_t cls, double weight, const SparseRow<T, Index>& row) {
        make_room_to_find(row.count, worker_);
        std::size_t n_found = 0;
        for (std::size_t k = 0; k < row.count; ++k) {
            const auto value = static_cast<double>(row.values[k]);
            if (std::isnan(value)) continue;
            const std::size_t slot = give_slot(static_cast<std::size_t>(row.columns[k]));
            was_seen_[slot] = true;
            sums_[weight_at(slot, cls)] += weight;
            if (squares_ != Squares::none)
                add_squared(slot, place_in(squares_, cls), weight * weight);
            worker_.found_values[n_found] = value;
            worker_.found_slots[n_found] = static_cast<std::uint32_t>(slot);
            n_found += value != 1.0 ? 1 : 0;
        }
        add_found(cls, weight, n_found, worker_);
        join_own();
    }

    static void make_room_to_find(std::size_t n_values, Worker& worker) {
        if (worker.places.size() >= n_values + Kernels::kPast) return;
        worker.found_values.resize(n_values + Kernels::kPast);
        worker.found_slots.resize(worker.found_values.size());
        worker.places.resize(worker.found_values.size());
        worker.new_values.resize(worker.found_values.size());
        worker.new_places.resize(worker.found_values.size());
    }

    // Adds the values other than 1 that were found in a row.
    void add_found(std::uint32_t cls, double weight, std::size_t n_found, Worker& worker) {
        std::size_t n_known = 0;
        std::size_t n_new = 0;
        for (std::size_t i = 0; i < n_found; ++i) {
            const std::uint32_t slot = worker.found_slots[i];
            if (others_of_[slot] - 1 < kNew - 1) {
                worker.places[n_known] = static_cast<std::uint32_t>(others_at(slot) + cls);
                worker.found_values[n_known] = worker.found_values[i];
                // rarely in the nearest cache: all are prefetched before the first is needed
                __builtin_prefetch(&others_[worker.places[n_known++]]);
                continue;
            }
            if (others_of_[slot] == 0) add_others(slot, worker);
            worker.new_places[n_new] =
                static_cast<std::uint32_t>((others_of_[slot] - kNew) * room_ + cls);
            worker.new_values[n_new++] = worker.found_values[i];
        }
        add_to(others_, missing_, worker.found_values, worker.places, n_known, weight);
        if (n_new > 0)
            add_to(worker.new_others, worker.new_missing, worker.new_values, worker.new_places,
                   n_new, weight);
    }

    void add_to(std::vector<Moments>& others, std::vector<Missing>& missing, Room<double>& values,
                Room<std::uint32_t>& places, std::size_t n, double weight) const {
        if (counts_missing_) n = note_missing(missing, values, places, n, weight);
        const std::size_t whole = n / Kernels::kFill * Kernels::kFill;
        bool all_finite = whole == 0 || kernels().add_values(values.data(), places.data(), whole,
                                                             weight, &others.data()->weight);
        for (std::size_t i = whole; i < n; ++i) {
            all_finite = all_finite && std::isfinite(values[i]);
            others[places[i]].merge({weight, values[i], 0.0, 0.0});
        }
        if (!all_finite) throw NotFinite();
    }

    void add_others(std::size_t slot, Worker& worker) {
        others_of_[slot] = kNew + static_cast<std::uint32_t>(worker.new_slots.size());
        worker.new_slots.push_back(static_cast<std::uint32_t>(slot));
        worker.new_others.resize(worker.new_others.size() + room_);
        if (counts_missing_) worker.new_missing.resize(worker.new_others.size());
    }
    // Counts the values found and removes the missing ones; returns how many are left.
    static std::size_t note_missing(std::vector<Missing>& missing, Room<double>& values,
                                    Room<std::uint32_t>& places, std::size_t n, double weight) {
        std::size_t n_values = 0;
        for (std::size_t i = 0; i < n; ++i) {
            Missing& of_place = missing[places[i]];
            of_place.not_1 += weight;
            values[n_values] = values[i];
            places[n_values] = places[i];
            if (std::isnan(values[i])) {
                of_place.weight += weight;
                of_place.squared += weight * weight;
            } else {
                ++n_values;
            }
        }
        return n_values;
    }

    // Brings a slot and its neighbours to the present epoch.
    void rebase(std::size_t slot) {
        std::int64_t& epoch = epochs_[slot / kStretch];
        if (epoch == epoch_) return;
        const std::size_t first = slot / kStretch * kStretch;
        scale(first, std::min(first + kStretch, n_slots()), Fading::rebase_factor(epoch_ - epoch));
        epoch = epoch_;
        ++n_current_;
    }

    void scale(std::size_t first_slot, std::size_t last_slot, double factor) {
        for (std::size_t slot = first_slot; slot < last_slot; ++slot) {
            was_seen_[slot] = was_seen_[slot] || has_weight(slot);
            for (std::size_t k = 0; k < n_squares(); ++k)
                sums_[square_at(slot, k)] *= factor * factor;
            for (std::size_t c = 0; c < n_classes_; ++c) {
                sums_[weight_at(slot, c)] *= factor;
                if (!has_others(slot)) continue;
                others_[others_at(slot) + c].scale(factor);
                if (!counts_missing_) continue;
                missing_[others_at(slot) + c].weight *= factor;
                missing_[others_at(slot) + c].squared *= factor * factor;
                missing_[others_at(slot) + c].not_1 *= factor;
            }
        }
    }
};

}  // namespace driftsieve
