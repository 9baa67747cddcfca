#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/fading.hpp"
#include "driftsieve/large_room.hpp"
#include "driftsieve/rows.hpp"

namespace driftsieve {

// What a sparse store knows of its features beside their rests: which columns have been seen (a
// column seen has a *slot*, counted from 0), and for each slot the value it showed first, its
// *atom*, with the weight of the atom and the rows of any value but 0 in each class.
//
// What the row loop needs of a feature lies side by side in a record of 32 bytes for two classes:
// two fit in a cache line, and seldom is the line in the nearest cache. All else lies elsewhere.
class SparseRecords {
  public:
    static constexpr std::uint64_t kMostRows = std::numeric_limits<std::uint32_t>::max();

    SparseRecords() = default;
    explicit SparseRecords(std::size_t n_columns) : entries_(n_columns, 0) {}

    std::size_t n_columns() const { return entries_.size(); }
    std::size_t n_slots() const { return column_of_slot_.size(); }
    std::size_t room_for_classes() const { return room_; }
    void grow(std::size_t n_columns) { entries_.resize(n_columns, 0); }

    static std::uint32_t slot_in(std::uint64_t entry) { return slot_plus_1(entry) - 1; }
    bool seen(std::size_t column) const { return entries_[column] != 0; }
    std::uint32_t slot_of(std::size_t column) const { return slot_in(entries_[column]); }
    std::size_t column_of(std::size_t slot) const { return column_of_slot_[slot]; }

    // 0: missing values came first, so there is none.
    double atom(std::size_t slot) const { return at<double>(record(slot)); }
    double weight(std::size_t slot, std::size_t cls) const {
        return at<double>(record(slot) + weight_at(cls));
    }
    // Stops at kMostRows, from where on a feature counts as one that may have been 0.
    std::uint64_t rows(std::size_t slot, std::size_t cls) const {
        return at<std::uint32_t>(record(slot) + weight_at(cls) + kRows);
    }
    std::int64_t epoch(std::size_t slot) const { return epoch_of_slot_[slot]; }
    // Position among the rests, plus 1; 0: the atom is all there is.
    std::uint32_t& rest(std::size_t slot) { return rest_of_slot_[slot]; }
    std::uint32_t rest(std::size_t slot) const { return rest_of_slot_[slot]; }

    void add(std::size_t slot, std::size_t cls, double weight, std::uint64_t rows) {
        std::byte* of_class = record(slot) + weight_at(cls);
        put(of_class, this->weight(slot, cls) + weight);
        put(of_class + kRows,
            static_cast<std::uint32_t>(std::min(this->rows(slot, cls) + rows, kMostRows)));
    }

    // From now on weights are those of this epoch. A record is brought there when it is next
    // needed, never in a pass over all of them: entries of an earlier generation are not found.
    void advance(std::int64_t epoch) {
        epoch_ = epoch;
        if (++generation_ != 0) return;
        generation_ = 1;
        for (std::uint64_t& entry : entries_) entry = slot_plus_1(entry);
    }

    // The slot of a column, its weights those of the present epoch; the column's first value
    // becomes its atom.
    std::uint32_t admit(std::size_t column, double value) {
        if (!seen(column)) {
            column_of_slot_.push_back(column);
            rest_of_slot_.push_back(0);
            epoch_of_slot_.push_back(epoch_);
            records_.resize((n_slots() + 1) * units_per_record());
            put(record(n_slots() - 1), std::isnan(value) ? 0.0 : value);
            entries_[column] = n_slots();
        }
        const std::uint32_t slot = slot_of(column);
        rebase(slot);
        entries_[column] = std::uint64_t{generation_} << 32 | (slot + 1);
        return slot;
    }

    void rebase(std::uint32_t slot) {
        if (epoch_of_slot_[slot] == epoch_) return;
        scale(slot, Fading::rebase_factor(epoch_ - epoch_of_slot_[slot]));
        epoch_of_slot_[slot] = epoch_;
    }

    // All weights times factor, which makes them those of `epoch`.
    void scale_to(std::int64_t epoch, double factor) {
        for (std::uint32_t slot = 0; slot < n_slots(); ++slot) rebase(slot);
        advance(epoch);
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            scale(slot, factor);
            epoch_of_slot_[slot] = epoch;
        }
    }

    void make_room_for(std::size_t n_classes) {
        if (n_classes <= room_) return;
        SparseRecords wide;
        wide.room_ = std::max<std::size_t>(2, std::bit_ceil(n_classes));
        wide.records_.resize((n_slots() + 1) * wide.units_per_record());
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            put(wide.record(slot), atom(slot));
            for (std::size_t c = 0; c < room_; ++c)
                wide.add(slot, c, weight(slot, c), rows(slot, c));
        }
        room_ = wide.room_;
        records_.swap(wide.records_);
    }

    // The same columns, [begin, begin + count) only, without rests.
    SparseRecords cut(std::size_t begin, std::size_t count) const {
        SparseRecords part(count);
        part.make_room_for(room_);
        for (std::size_t slot = 0; slot < n_slots(); ++slot) {
            if (column_of(slot) - begin >= count) continue;
            part.epoch_ = epoch(slot);
            const std::uint32_t copy = part.admit(column_of(slot) - begin, atom(slot));
            std::copy_n(record(slot), record_bytes(), part.record(copy));
        }
        part.advance(epoch_);
        return part;
    }

    // The row loop's view of all records, for one row: what it would otherwise load again after
    // every write. To be taken anew when a column was admitted.
    class OfRow {
      public:
        // `rows` is what the row counts for: 0 where a count might run over.
        OfRow(SparseRecords& records, std::size_t cls, double weight, std::uint32_t rows)
            : entries_(records.entries_.data()),
              records_(records.bytes()),
              record_bytes_(records.record_bytes()),
              generation_(records.generation_),
              weight_at_(weight_at(cls)),
              weight_(std::bit_cast<std::uint64_t>(weight)),
              rows_(rows) {}

        void prefetch_entry(std::size_t column) const { __builtin_prefetch(entries_ + column); }
        void prefetch_record(std::size_t column) const {
            __builtin_prefetch(records_ + slot_plus_1(entries_[column]) * record_bytes_);
        }

        std::uint64_t entry(std::size_t column) const { return entries_[column]; }
        bool is_current(std::uint64_t entry) const { return entry >> 32 == generation_; }

        // Counts the row for a value given by its bits; true if that is the atom, whose weight is
        // then added. Equal bits are equal values, since 0 and missing ones are no atoms. There is
        // no branch, which would be foretold wrongly again and again.
        bool add(std::uint64_t entry, std::uint64_t value) const {
            std::byte* record = records_ + slot_plus_1(entry) * record_bytes_;
            const bool is_atom = at<std::uint64_t>(record) == value;
            std::byte* of_class = record + weight_at_;
            const std::uint64_t added = weight_ & (0 - std::uint64_t{is_atom});
            put(of_class, at<double>(of_class) + std::bit_cast<double>(added));
            put(of_class + kRows, at<std::uint32_t>(of_class + kRows) + rows_);
            return is_atom;
        }

      private:
        const std::uint64_t* entries_;
        std::byte* records_;
        std::size_t record_bytes_;
        std::uint32_t generation_;
        std::size_t weight_at_;
        std::uint64_t weight_;  // its bits
        std::uint32_t rows_;
    };

    std::size_t nbytes() const {
        return entries_.size() * sizeof(std::uint64_t) + bytes_in(records_) +
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
                for (std::size_t c = 0; c < room_; ++c) {
                    out[3 + 2 * c] = weight(slot, c);
                    out[4 + 2 * c] = static_cast<double>(rows(slot, c));
                }
            }
            column_of_slot = column_of_slot_;
            ar(slot_of_column, column_of_slot, stride, numbers);
        }
    }

  private:
    struct alignas(32) Unit {
        std::byte bytes[32] = {};
    };
    // By column: generation and slot + 1; 0: never seen.
    std::vector<std::uint64_t> entries_;
    std::uint32_t generation_ = 1;
    std::int64_t epoch_ = 0;
    std::size_t room_ = 0;  // classes
    // Atom, weights and row counts, one record after the other; the first belongs to no slot, so
    // that a column never seen has a record to ask for in advance.
    LargeRoom<Unit> records_;
    std::vector<std::size_t> column_of_slot_;
    std::vector<std::uint32_t> rest_of_slot_;
    std::vector<std::int64_t> epoch_of_slot_;

    static std::uint32_t slot_plus_1(std::uint64_t entry) {
        return static_cast<std::uint32_t>(entry);
    }

    static constexpr std::size_t weight_at(std::size_t cls) { return 8 + 12 * cls; }
    static constexpr std::size_t kRows = 8;  // a count of rows comes after its weight
    // whole cache lines where half of one is too small
    std::size_t units_per_record() const { return room_ <= 2 ? 1 : (8 + 12 * room_ + 63) / 64 * 2; }
    std::size_t record_bytes() const { return units_per_record() * sizeof(Unit); }
    std::byte* bytes() { return reinterpret_cast<std::byte*>(records_.data()); }
    std::byte* record(std::size_t slot) { return bytes() + (slot + 1) * record_bytes(); }
    const std::byte* record(std::size_t slot) const {
        return reinterpret_cast<const std::byte*>(records_.data()) + (slot + 1) * record_bytes();
    }

    template <class T>
    static T at(const std::byte* place) {
        T number;
        std::memcpy(&number, place, sizeof number);
        return number;
    }
    template <class T>
    static void put(std::byte* place, T number) {
        std::memcpy(place, &number, sizeof number);
    }

    void scale(std::size_t slot, double factor) {
        for (std::size_t c = 0; c < room_; ++c)
            put(record(slot) + weight_at(c), weight(slot, c) * factor);
    }

    std::size_t stored_stride() const { return room_ == 0 ? 3 : (3 + 2 * room_ + 7) / 8 * 8; }

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
