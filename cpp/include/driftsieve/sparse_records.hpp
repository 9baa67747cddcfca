#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/atom_records.hpp"
#include "driftsieve/fading.hpp"
#include "driftsieve/rows.hpp"

namespace driftsieve {

// What a sparse store knows of its features beside their rests: which columns have been seen (a
// column seen has a *slot*, counted from 0), and for each slot the value it showed first, its
// *atom*, with the weight of the atom and the rows of any value but 0 in each class: that is what
// the row loop needs, and its record. All else lies elsewhere.
//
// Slots are given in the order in which columns are first seen, and a row has to look each of them
// up. But where most of the first columns have been seen, they are *in order*: column j has slot j,
// some of them blank. The row then finds their records at once, and from low to high.
class SparseRecords {
  public:
    static constexpr std::uint64_t kMostRows = AtomRecords::kMostRows;

    SparseRecords() = default;
    explicit SparseRecords(std::size_t n_columns) : entries_(n_columns, 0) {}

    std::size_t n_columns() const { return entries_.size(); }
    std::size_t n_slots() const { return column_of_slot_.size(); }
    std::size_t room_for_classes() const { return records_.room(); }
    void grow(std::size_t n_columns) { entries_.resize(n_columns, 0); }

    static std::uint32_t slot_in(std::uint64_t entry) { return slot_plus_1(entry) - 1; }
    bool seen(std::size_t column) const {
        return entries_[column] != 0 && !is_blank(slot_of(column));
    }
    std::uint32_t slot_of(std::size_t column) const { return slot_in(entries_[column]); }
    std::size_t column_of(std::size_t slot) const { return column_of_slot_[slot]; }

    // Of a column that has not been seen.
    bool is_blank(std::size_t slot) const { return first_value(slot) == kUnseen; }
    // 0: missing values came first, or nothing, so there is none.
    double atom(std::size_t slot) const {
        return std::isinf(first_value(slot)) ? 0.0 : first_value(slot);
    }
    double weight(std::size_t slot, std::size_t cls) const { return records_.weight(slot, cls); }
    // From kMostRows on a feature counts as one that may have been 0.
    std::uint64_t rows(std::size_t slot, std::size_t cls) const { return records_.rows(slot, cls); }
    void prefetch(std::size_t slot) const {
        records_.prefetch(slot);
        __builtin_prefetch(&rest_of_slot_[slot]);
        __builtin_prefetch(&epoch_of_slot_[slot]);
    }
    std::int64_t epoch(std::size_t slot) const { return epoch_of_slot_[slot]; }
    // Position among the rests, plus 1; 0: the atom is all there is.
    std::uint32_t& rest(std::size_t slot) { return rest_of_slot_[slot]; }
    std::uint32_t rest(std::size_t slot) const { return rest_of_slot_[slot]; }

    void add(std::size_t slot, std::size_t cls, double weight, std::uint64_t rows) {
        records_.add(slot, cls, weight, rows);
    }
    // Takes back that a row was counted.
    void uncount(std::size_t slot, std::size_t cls, std::uint32_t rows) {
        records_.uncount(slot, cls, rows);
    }

    // From now on weights are those of this epoch. A record is brought there when it is next
    // needed, never in a pass over all of them: entries of an earlier generation are not found.
    void advance(std::int64_t epoch) {
        epoch_ = epoch;
        n_current_ = 0;
        if (++generation_ != 0) return;
        generation_ = 1;
        for (std::uint64_t& entry : entries_) entry = slot_plus_1(entry);
        std::fill(stretches_.begin(), stretches_.end(), 0U);
    }

    // The slot of a column, its weights those of the present epoch; the column's first value
    // becomes its atom.
    std::uint32_t admit(std::size_t column, double value) {
        give_slot(column);
        const std::uint32_t slot = slot_of(column);
        if (is_blank(slot))
            records_.set_value(slot, std::isnan(value) || value == 0.0 ? kNone : value);
        rebase(slot);
        entries_[column] = std::uint64_t{generation_} << 32 | (slot + 1);
        return slot;
    }

    void rebase(std::uint32_t slot) {
        if (epoch_of_slot_[slot] == epoch_) return;
        records_.scale(slot, Fading::rebase_factor(epoch_ - epoch_of_slot_[slot]));
        epoch_of_slot_[slot] = epoch_;
    }

    // All weights times factor, which makes them those of `epoch`.
    void scale_to(std::int64_t epoch, double factor) {
        for (std::uint32_t slot = 0; slot < n_slots(); ++slot) rebase(slot);
        advance(epoch);
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            records_.scale(slot, factor);
            epoch_of_slot_[slot] = epoch;
        }
    }

    void make_room_for(std::size_t n_classes) {
        if (n_classes > records_.room()) records_.make_room_for(n_classes, n_slots());
    }

    // The same columns, [begin, begin + count) only, without rests.
    SparseRecords cut(std::size_t begin, std::size_t count) const {
        SparseRecords part(count);
        part.make_room_for(records_.room());
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            if (column_of(slot) - begin >= count) continue;
            part.epoch_ = epoch(slot);
            const std::uint32_t copy = part.admit(column_of(slot) - begin, atom(slot));
            part.records_.copy(records_, slot, copy);
        }
        part.advance(epoch_);
        return part;
    }

    // Puts the first columns in order, as many as leave no more than half of them blank, or all if
    // those are most. Says where each slot has gone to; nothing if all have stayed, since few of
    // them, or few more, would be in order.
    std::vector<std::uint32_t> put_in_order() {
        std::size_t n = 0;
        std::size_t n_seen = 0;
        for (std::size_t j = 0; j < std::min(n_columns(), 2 * n_slots()); ++j) {
            n_seen += j < n_in_order_ ? !is_blank(j) : entries_[j] != 0;
            if (2 * n_seen > j) n = j + 1;
        }
        if (2 * n >= n_columns()) n = n_columns();
        if (n <= n_in_order_ || (n < 4 * n_in_order_ && n < n_columns()) || 2 * n < n_slots())
            return {};
        SparseRecords ordered;
        ordered.epoch_ = epoch_;
        ordered.generation_ = generation_;
        ordered.make_room_for(records_.room());
        ordered.add_slots(n);
        std::vector<std::uint32_t> moved(n_slots());
        const auto move = [&](std::uint32_t from, std::size_t to) {
            rebase(from);
            moved[from] = static_cast<std::uint32_t>(to);
            ordered.rest(to) = rest(from);
            ordered.records_.copy(records_, from, to);
        };
        for (std::size_t j = 0; j < n; ++j) {
            ordered.column_of_slot_[j] = j;
            if (entries_[j] != 0) move(slot_of(j), j);
            entries_[j] = std::uint64_t{generation_} << 32 | (j + 1);
        }
        for (std::uint32_t slot = 0; slot < n_slots(); ++slot) {
            if (column_of(slot) < n) continue;
            ordered.add_slots(ordered.n_slots() + 1);
            ordered.column_of_slot_.back() = column_of(slot);
            move(slot, ordered.n_slots() - 1);
            entries_[column_of(slot)] = std::uint64_t{generation_} << 32 | ordered.n_slots();
        }
        ordered.entries_.swap(entries_);
        ordered.find_order();
        *this = std::move(ordered);
        return moved;
    }

    // How many of these columns, which rise, are in order.
    template <class Index>
    std::size_t count_in_order(const Index* columns, std::size_t count) const {
        const auto before = [&](Index column) {
            return static_cast<std::size_t>(column) < n_in_order_;
        };
        if (count == 0 || before(columns[count - 1])) return count;
        return static_cast<std::size_t>(std::partition_point(columns, columns + count, before) -
                                        columns);
    }

    // Brings columns that are in order to the present epoch, with their neighbours.
    template <class Index>
    void rebase_in_order(const Index* columns, std::size_t count) {
        for (std::size_t k = 0; n_current_ < stretches_.size() && k < count; ++k) {
            const std::size_t stretch = static_cast<std::size_t>(columns[k]) / kStretch;
            if (stretches_[stretch] == generation_) continue;
            const std::size_t end = std::min((stretch + 1) * kStretch, n_in_order_);
            for (std::size_t j = stretch * kStretch; j < end; ++j)
                rebase(static_cast<std::uint32_t>(j));
            stretches_[stretch] = generation_;
            ++n_current_;
        }
    }

    // Adds a row's values in columns that are in order, after which there are `more` columns to
    // come. Each counts as a row, and adds its weight if it is the atom; where the others are is
    // written to `missed`, and their number is returned.
    template <class T, class Index>
    std::size_t add_in_order(std::size_t cls, double weight, std::uint32_t rows, const T* values,
                             const Index* columns, std::size_t count, std::size_t more,
                             std::uint32_t* missed) {
        constexpr std::size_t kAhead = 32;
        const AtomRecords::OfRow records(records_, 0, cls, weight, rows);
        const auto slot = [&](std::size_t k) { return static_cast<std::size_t>(columns[k]); };
        std::size_t n_missed = 0;
        const auto add = [&](std::size_t k) {
            missed[n_missed] = static_cast<std::uint32_t>(k);
            n_missed += !records.add(slot(k), bits_of(values[k]));
        };
        const std::size_t ahead = std::min(count, count + more - std::min(count + more, kAhead));
        std::size_t k = 0;
        for (; k < ahead; ++k) {
            records.prefetch(slot(k + kAhead));
            add(k);
        }
        for (; k < count; ++k) add(k);
        return n_missed;
    }

    // The row loop's view of all columns, for one row. To be taken anew when a column was admitted.
    class OfRow {
      public:
        // `rows` is what the row counts for: 0 where a count might run over.
        OfRow(SparseRecords& records, std::size_t cls, double weight, std::uint32_t rows)
            : entries_(records.entries_.data()),
              generation_(records.generation_),
              records_(records.records_, 1, cls, weight, rows) {}

        void prefetch_entry(std::size_t column) const { __builtin_prefetch(entries_ + column); }
        void prefetch_record(std::size_t column) const {
            records_.prefetch(slot_plus_1(entries_[column]));
        }

        std::uint64_t entry(std::size_t column) const { return entries_[column]; }
        bool is_current(std::uint64_t entry) const { return entry >> 32 == generation_; }

        // Counts the row for a value given by its bits; true if that is the atom, whose weight is
        // then added. Equal bits are equal values, since 0 and missing ones are no atoms.
        bool add(std::uint64_t entry, std::uint64_t value) const {
            return records_.add(slot_plus_1(entry), value);
        }

      private:
        const std::uint64_t* entries_;
        std::uint32_t generation_;
        AtomRecords::OfRow records_;
    };

    std::size_t nbytes() const {
        return entries_.size() * sizeof(std::uint64_t) + records_.nbytes() +
               stretches_.size() * sizeof(std::uint32_t) +
               n_slots() * (sizeof(std::size_t) + sizeof(std::uint32_t) + sizeof(std::int64_t));
    }

    // Stored as numbers of one kind: for each slot its atom, epoch and rest, and for each class
    // weight and rows.
    template <class Archive>
    void archive(Archive& ar, std::size_t n_classes, std::int64_t epoch) {
        std::vector<std::uint32_t> slot_of_column;
        std::vector<std::size_t> column_of_slot;
        std::size_t stride = 0;
        std::vector<double> numbers;
        if constexpr (requires { ar.expect_end(); }) {
            ar(slot_of_column, column_of_slot, stride, numbers);
            take(slot_of_column, column_of_slot, stride, numbers, n_classes, epoch);
        } else {
            slot_of_column.reserve(n_columns());
            for (const std::uint64_t entry : entries_) slot_of_column.push_back(slot_plus_1(entry));
            stride = stored_stride();
            numbers.assign(n_slots() * stride, 0.0);
            for (std::size_t slot = 0; slot < n_slots(); ++slot) {
                double* out = &numbers[slot * stride];
                out[0] = atom(slot);
                out[1] = static_cast<double>(this->epoch(slot));
                out[2] = rest(slot);
                for (std::size_t c = 0; c < records_.room(); ++c) {
                    out[3 + 2 * c] = weight(slot, c);
                    out[4 + 2 * c] = static_cast<double>(rows(slot, c));
                }
            }
            column_of_slot = column_of_slot_;
            ar(slot_of_column, column_of_slot, stride, numbers);
        }
    }

  private:
    // Values that are never met: first values of columns not seen, or seen as missing ones only.
    static constexpr double kUnseen = std::numeric_limits<double>::infinity();
    static constexpr double kNone = -std::numeric_limits<double>::infinity();
    static constexpr std::size_t kStretch = 64;

    // By column: generation and slot + 1; 0: there is no slot.
    std::vector<std::uint64_t> entries_;
    std::uint32_t generation_ = 1;
    std::int64_t epoch_ = 0;
    AtomRecords records_;
    std::vector<std::size_t> column_of_slot_;
    std::vector<std::uint32_t> rest_of_slot_;
    std::vector<std::int64_t> epoch_of_slot_;
    std::size_t n_in_order_ = 0;  // columns j of slot j from the first on
    // By kStretch of those columns: the generation in which all were brought to its epoch; and how
    // many are of the present one.
    std::vector<std::uint32_t> stretches_;
    std::size_t n_current_ = 0;

    static std::uint32_t slot_plus_1(std::uint64_t entry) {
        return static_cast<std::uint32_t>(entry);
    }

    template <class T>
    static std::uint64_t bits_of(T value) {
        return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    }

    double first_value(std::size_t slot) const { return records_.value(slot); }

    // All that come new are blank, and of the present epoch.
    void add_slots(std::size_t n_slots) {
        const std::size_t before = this->n_slots();
        column_of_slot_.resize(n_slots);
        rest_of_slot_.resize(n_slots);
        epoch_of_slot_.resize(n_slots, epoch_);
        records_.resize(n_slots);
        for (std::size_t slot = before; slot < n_slots; ++slot) records_.set_value(slot, kUnseen);
    }

    void give_slot(std::size_t column) {
        if (entries_[column] != 0) return;
        add_slots(n_slots() + 1);
        column_of_slot_.back() = column;
        entries_[column] = n_slots();
        find_order();
    }

    void find_order() {
        while (n_in_order_ < n_slots() && column_of(n_in_order_) == n_in_order_) {
            if (n_in_order_ % kStretch == 0) {
                stretches_.push_back(generation_);
                ++n_current_;
            }
            ++n_in_order_;
        }
    }

    std::size_t stored_stride() const {
        const std::size_t room = records_.room();
        return room == 0 ? 3 : (3 + 2 * room + 7) / 8 * 8;
    }

    static std::uint64_t rows_in(double number) {
        return static_cast<std::uint64_t>(std::min(number, static_cast<double>(kMostRows)));
    }

    // What has come from bytes is believed only after these checks.
    void take(std::span<const std::uint32_t> slot_of_column,
              std::span<const std::size_t> column_of_slot, std::size_t stride,
              std::span<const double> numbers, std::size_t n_classes, std::int64_t epoch) {
        require(stride >= 3 && (stride - 3) / 2 >= n_classes);
        require(numbers.size() % stride == 0 && numbers.size() / stride == column_of_slot.size());
        const auto n_seen =
            slot_of_column.size() -
            static_cast<std::size_t>(std::count(slot_of_column.begin(), slot_of_column.end(), 0U));
        require(n_seen == column_of_slot.size());
        *this = SparseRecords(slot_of_column.size());
        if (n_classes > 0) make_room_for(n_classes);
        for (std::size_t slot = 0; slot < column_of_slot.size(); ++slot) {
            const std::size_t column = column_of_slot[slot];
            require(column < slot_of_column.size() && slot_of_column[column] == slot + 1);
            const double* from = &numbers[slot * stride];
            require(std::isfinite(from[0]));
            require(from[1] <= static_cast<double>(epoch) && from[1] > -0x1p54);
            require(from[2] >= 0.0 && from[2] <= static_cast<double>(column_of_slot.size()));
            epoch_ = static_cast<std::int64_t>(from[1]);
            give_slot(column);
            const auto is_0 = [](double number) { return number == 0.0; };
            if (!is_0(from[0]) || !std::all_of(from + 2, from + stride, is_0))
                admit(column, from[0]);
            rest(slot) = static_cast<std::uint32_t>(from[2]);
            for (std::size_t k = 3; k < stride; ++k) require_weight(from[k]);
            for (std::size_t c = 0; c < n_classes; ++c)
                add(slot, c, from[3 + 2 * c], rows_in(from[4 + 2 * c]));
        }
        advance(epoch);
    }
};

}  // namespace driftsieve
