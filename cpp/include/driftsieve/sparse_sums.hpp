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

#include "driftsieve/fading.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/large_room.hpp"
#include "driftsieve/moments.hpp"
#include "driftsieve/room.hpp"
#include "driftsieve/validate.hpp"

namespace driftsieve {

// Of one feature and one class.
struct ClassSums {
    double not_0 = 0.0;  // what the rows weigh in which the value was not 0, or missing
    double not_1 = 0.0;  // those of them in which it was not 1 either
    double missing = 0.0;
    Moments others;  // of the values other than 0 and 1
};

// Sums of sparse columns of which most values are 0 or 1. A value costs one addition; only those
// other than 1 are looked at again.
//
// A column has its sums in a *slot*, counted from 0. The first columns have theirs from the
// beginning, column j slot j, as many as fit a room of 32 MiB; the others get one when they are
// first seen, and take 4 bytes until then. Where sums lie never changes what they are.
class SparseSums {
  public:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    SparseSums() = default;
    SparseSums(std::size_t n_columns, bool ignore_missing)
        : n_columns_(n_columns), ignore_missing_(ignore_missing) {}

    std::size_t n_columns() const { return n_columns_; }
    void grow(std::size_t n_columns) {
        n_columns_ = n_columns;
        if (room_ > 0) lay_out(n_columns);
    }

    // Whether any row of a column was not 0; what it weighs may have faded since.
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

    // Sums of the present epoch.
    ClassSums of(std::size_t slot, std::size_t cls) const {
        ClassSums sums;
        if (cls >= room_) return sums;
        const double factor = Fading::rebase_factor(epoch_ - epochs_[slot / kStretch]);
        sums.not_0 = weights_[slot * room_ + cls] * factor;
        if (!has_others(slot)) return sums;
        sums.others = others_[others_at(slot) + cls];
        sums.others.scale(factor);
        sums.not_1 = sums.others.weight;
        if (!ignore_missing_) return sums;
        sums.not_1 = missing_[others_at(slot) + cls].not_1 * factor;
        sums.missing = missing_[others_at(slot) + cls].weight * factor;
        return sums;
    }

    // Room for classes; at first, for that many columns from the beginning at most.
    void admit_classes(std::size_t n_classes, std::size_t most_direct) {
        if (n_classes <= room_) return;
        const std::size_t before = room_;
        room_ = std::max<std::size_t>(2, std::bit_ceil(n_classes));
        widen(weights_, before);
        widen(others_, before);
        widen(missing_, before);
        if (before == 0) others_.resize(room_);
        lay_out(most_direct);
    }

    // From now on sums are those of this epoch. They are brought there when they are next needed,
    // never in a pass over all of them.
    void advance(std::int64_t epoch) {
        epoch_ = epoch;
        n_current_ = 0;
    }

    // The slot of a column, with its sums those of the present epoch.
    std::size_t give_slot(std::size_t column) {
        if (slot_of(column) == kNone) {
            add_slots(1);
            slots_of_late_[column - n_direct_] = static_cast<std::uint32_t>(n_slots());
        }
        rebase(slot_of(column));
        return slot_of(column);
    }

    // Throws BadRows, the row half taken in, if columns are not as they should be and nobody has
    // looked before, or a value is infinite, or missing where none may be.
    template <class T, class Index>
    void add_row(std::uint32_t cls, double weight, const SparseRow<T, Index>& row) {
        if (row.count == 0) return;
        if (n_current_ == epochs_.size() &&
            static_cast<std::size_t>(row.columns[row.count - 1]) < n_direct_) {
            add_slots_of_row(cls, weight, row);
            return;
        }
        const std::array<Index, 2> all{0, static_cast<Index>(row.count)};
        if (!row.is_canonical && !rows_are_canonical(std::span(row.columns, row.count),
                                                     std::span<const Index>(all), n_columns_))
            throw NotCanonical();
        slots_.resize(row.count);
        for (std::size_t k = 0; k < row.count; ++k)
            slots_[k] =
                static_cast<std::int64_t>(give_slot(static_cast<std::size_t>(row.columns[k])));
        add_slots_of_row(cls, weight,
                         SparseRow<T, std::int64_t>{row.values, slots_.data(), row.count, 0});
    }

    // Adds what other rows have, of a slot that has been given.
    void add(std::size_t slot, std::size_t cls, const ClassSums& sums, bool with_others) {
        was_seen_[slot] = true;
        weights_[slot * room_ + cls] += sums.not_0;
        if (!with_others) return;
        const std::size_t at = give_others(slot) + cls;
        others_[at].merge(sums.others);
        if (!ignore_missing_) return;
        missing_[at].weight += sums.missing;
        missing_[at].not_1 += sums.not_1;
    }

    // All sums times factor, which makes them those of `epoch`.
    void scale_to(std::int64_t epoch, double factor) {
        for (std::size_t slot = 0; slot < n_slots(); slot += kStretch) rebase(slot);
        scale(0, n_slots(), factor);
        epoch_ = epoch;
        std::fill(epochs_.begin(), epochs_.end(), epoch);
    }

    // Without the room that long lists keep: what is not reached takes no memory.
    std::size_t nbytes() const {
        return bytes_in(weights_) + others_.size() * sizeof(Moments) +
               missing_.size() * sizeof(Missing) + was_seen_.size() / 8 +
               (slots_of_late_.size() + others_of_.size()) * sizeof(std::uint32_t) +
               epochs_.size() * sizeof(std::int64_t);
    }

  private:
    static constexpr std::size_t kDirect = std::size_t{1} << 22;  // sums
    static constexpr std::size_t kStretch = 64;

    struct Missing {
        double weight = 0.0;
        double not_1 = 0.0;  // with the others, added in the order of the rows
    };

    std::size_t n_columns_ = 0;
    bool ignore_missing_ = false;
    std::size_t room_ = 0;  // classes
    std::int64_t epoch_ = 0;
    std::size_t n_direct_ = 0;
    std::vector<std::uint32_t> slots_of_late_;  // of the columns after those; plus 1; 0: none yet
    LargeRoom<double> weights_;                 // by slot and class
    std::vector<bool> was_seen_;                // by slot
    std::vector<std::uint32_t> others_of_;      // by slot: place; 0: none
    std::vector<Moments> others_;               // by place and class; place 0 is nobody's
    std::vector<Missing> missing_;              // likewise; empty where none may be missing
    // By kStretch slots: the epoch of their sums; and how many stand at the present one.
    std::vector<std::int64_t> epochs_;
    std::size_t n_current_ = 0;
    Room<std::int64_t> slots_;         // of a row
    Room<double> found_values_;        // of a row: those other than 0 and 1
    Room<std::uint32_t> found_slots_;  // of these
    Room<std::uint32_t> places_;       // of their moments

    std::size_t n_slots() const { return others_of_.size(); }
    bool has_weight(std::size_t slot) const {
        const double* weights = &weights_[slot * room_];
        return has_others(slot) ||
               std::any_of(weights, weights + room_, [](double weight) { return weight != 0.0; });
    }

    // Rows of `before` items get room for more of them, which are nothing yet.
    template <class Items>
    void widen(Items& items, std::size_t before) const {
        Items wide;
        if (before > 0) wide.resize(items.size() / before * room_, typename Items::value_type{});
        for (std::size_t i = 0; i < items.size(); ++i)
            wide[i / before * room_ + i % before] = items[i];
        items.swap(wide);
    }

    void lay_out(std::size_t most_direct) {
        const std::size_t wanted = std::min({n_columns_, kDirect / room_, most_direct});
        if (n_slots() == n_direct_ && wanted > n_direct_) {  // none has come late
            add_slots(wanted - n_direct_);
            n_direct_ = wanted;
        }
        slots_of_late_.resize(n_columns_ - n_direct_, 0);
    }

    void add_slots(std::size_t n) {
        others_of_.resize(n_slots() + n, 0);
        was_seen_.resize(n_slots(), false);
        weights_.resize(n_slots() * room_, 0.0);
        for (; epochs_.size() * kStretch < n_slots(); ++n_current_) epochs_.push_back(epoch_);
    }

    // Where the other values of a slot have their moments, class 0 first.
    std::size_t others_at(std::size_t slot) const { return others_of_[slot] * room_; }
    std::size_t give_others(std::size_t slot) {
        if (!has_others(slot)) [[unlikely]]
            add_others(slot);
        return others_at(slot);
    }
    // Apart, so that give_others() is short enough to be inlined.
    [[gnu::noinline]] void add_others(std::size_t slot) {
        others_of_[slot] = static_cast<std::uint32_t>(others_.size() / room_);
        others_.resize(others_.size() + room_);
        if (ignore_missing_) missing_.resize(others_.size());
    }

    // Its columns are slots.
    template <class T, class Index>
    void add_slots_of_row(std::uint32_t cls, double weight, const SparseRow<T, Index>& row) {
        if (places_.size() < row.count + Kernels::kPast) {
            found_values_.resize(row.count + Kernels::kPast);
            found_slots_.resize(found_values_.size());
            places_.resize(found_values_.size());
        }
        const std::size_t n_found = std::get<AddWeight<T, Index>>(kernels().add_weight)(
            row, weight, weights_.data() + cls, room_, n_direct_,
            {found_values_.data(), found_slots_.data()});
        if (n_found == Kernels::kRefused) throw NotCanonical();
        // moments are seldom in the nearest cache: all are asked for before the first is needed
        for (std::size_t i = 0; i < n_found; ++i) {
            places_[i] = static_cast<std::uint32_t>(give_others(found_slots_[i]) + cls);
            __builtin_prefetch(&others_[places_[i]]);
        }
        const std::size_t n_values = ignore_missing_ ? note_missing(n_found, weight) : n_found;
        std::fill_n(places_.begin() + n_values, Kernels::kFill, 0);
        std::fill_n(found_values_.begin() + n_values, Kernels::kFill, 1.0);
        if (!kernels().add_values(found_values_.data(), places_.data(), n_values, weight,
                                  &others_.data()->weight))
            throw NotFinite();
    }

    // Counts the values found, and leaves those that are not missing; how many these are.
    std::size_t note_missing(std::size_t n_found, double weight) {
        std::size_t n_values = 0;
        for (std::size_t i = 0; i < n_found; ++i) {
            Missing& missing = missing_[places_[i]];
            missing.not_1 += weight;
            found_values_[n_values] = found_values_[i];
            places_[n_values] = places_[i];
            if (std::isnan(found_values_[i]))
                missing.weight += weight;
            else
                ++n_values;
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
            for (std::size_t c = 0; c < room_; ++c) {
                weights_[slot * room_ + c] *= factor;
                if (!has_others(slot)) continue;
                others_[others_at(slot) + c].scale(factor);
                if (!ignore_missing_) continue;
                missing_[others_at(slot) + c].weight *= factor;
                missing_[others_at(slot) + c].not_1 *= factor;
            }
        }
    }
};

}  // namespace driftsieve
