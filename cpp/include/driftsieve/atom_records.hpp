#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "driftsieve/large_room.hpp"

namespace driftsieve {

// Of each slot (see SparseRecords) a value, and for each class a weight and a count of rows, side
// by side in a record of 32 bytes for two classes: two fit in a cache line, and seldom is the line
// in the nearest cache.
class AtomRecords {
  public:
    static constexpr std::uint64_t kMostRows = std::numeric_limits<std::uint32_t>::max();

    std::size_t room() const { return room_; }  // for classes

    double value(std::size_t slot) const { return at<double>(record(slot)); }
    void set_value(std::size_t slot, double value) { put(record(slot), value); }
    double weight(std::size_t slot, std::size_t cls) const {
        return at<double>(record(slot) + weight_at(cls));
    }
    // Stops at kMostRows.
    std::uint64_t rows(std::size_t slot, std::size_t cls) const {
        return at<std::uint32_t>(record(slot) + weight_at(cls) + kRows);
    }
    void prefetch(std::size_t slot) const { __builtin_prefetch(record(slot)); }

    void add(std::size_t slot, std::size_t cls, double weight, std::uint64_t rows) {
        std::byte* of_class = record(slot) + weight_at(cls);
        put(of_class, this->weight(slot, cls) + weight);
        put(of_class + kRows,
            static_cast<std::uint32_t>(std::min(this->rows(slot, cls) + rows, kMostRows)));
    }
    // Takes back that a row was counted.
    void uncount(std::size_t slot, std::size_t cls, std::uint32_t rows) {
        put(record(slot) + weight_at(cls) + kRows,
            static_cast<std::uint32_t>(this->rows(slot, cls) - rows));
    }
    void scale(std::size_t slot, double factor) {
        for (std::size_t c = 0; c < room_; ++c)
            put(record(slot) + weight_at(c), weight(slot, c) * factor);
    }
    // What another, with room for as many classes, has in one slot.
    void copy(const AtomRecords& from, std::size_t from_slot, std::size_t slot) {
        std::copy_n(from.record(from_slot), record_bytes(), record(slot));
    }

    // For so many slots; new ones are empty, but for their value.
    void resize(std::size_t n_slots) { units_.resize((n_slots + 1) * units_per_record()); }

    void make_room_for(std::size_t n_classes, std::size_t n_slots) {
        AtomRecords wide;
        wide.room_ = std::max<std::size_t>(2, std::bit_ceil(n_classes));
        wide.resize(n_slots);
        for (std::size_t slot = 0; slot < n_slots; ++slot) {
            wide.set_value(slot, value(slot));
            for (std::size_t c = 0; c < room_; ++c)
                wide.add(slot, c, weight(slot, c), rows(slot, c));
        }
        *this = std::move(wide);
    }

    std::size_t nbytes() const { return bytes_in(units_); }

    // The row loop's view of all records, for one row: what it would otherwise load again after
    // every write. Slots are numbered from `first` on; before slot 0 there is one to ask for in
    // advance, which is nobody's.
    class OfRow {
      public:
        // `rows` is what the row counts for: 0 where a count might run over.
        OfRow(AtomRecords& records, std::size_t first, std::size_t cls, double weight,
              std::uint32_t rows)
            : records_(records.bytes() + (1 - first) * records.record_bytes()),
              record_bytes_(records.record_bytes()),
              weight_at_(weight_at(cls)),
              added_{weight, 0.0},
              rows_(rows) {}

        void prefetch(std::size_t slot) const {
            __builtin_prefetch(records_ + slot * record_bytes_);
        }

        // Counts the row for a value given by its bits; true if the record has that value, and then
        // the weight is added. There is no branch, which would be foretold wrongly again and again.
        bool add(std::size_t slot, std::uint64_t value) const {
            std::byte* record = records_ + slot * record_bytes_;
            const bool is_other = at<std::uint64_t>(record) != value;
            std::byte* of_class = record + weight_at_;
            put(of_class, at<double>(of_class) + added_[is_other]);
            put(of_class + kRows, at<std::uint32_t>(of_class + kRows) + rows_);
            return !is_other;
        }

      private:
        std::byte* records_;
        std::size_t record_bytes_;
        std::size_t weight_at_;
        double added_[2];
        std::uint32_t rows_;
    };

  private:
    struct alignas(32) Unit {
        std::byte bytes[32] = {};
    };

    std::size_t room_ = 0;
    LargeRoom<Unit> units_;  // one record after the other; the first belongs to no slot

    static constexpr std::size_t weight_at(std::size_t cls) { return 8 + 12 * cls; }
    static constexpr std::size_t kRows = 8;  // a count of rows comes after its weight
    // whole cache lines where half of one is too small
    std::size_t units_per_record() const { return room_ <= 2 ? 1 : (8 + 12 * room_ + 63) / 64 * 2; }
    std::size_t record_bytes() const { return units_per_record() * sizeof(Unit); }
    std::byte* bytes() { return reinterpret_cast<std::byte*>(units_.data()); }
    std::byte* record(std::size_t slot) { return bytes() + (slot + 1) * record_bytes(); }
    const std::byte* record(std::size_t slot) const {
        return reinterpret_cast<const std::byte*>(units_.data()) + (slot + 1) * record_bytes();
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
};

}  // namespace driftsieve
