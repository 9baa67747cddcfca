#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "driftsieve/base/squares.hpp"

namespace driftsieve {

// Records are stored in units of half a cache line.
struct alignas(32) RecordUnit {
    std::byte bytes[32] = {};
};

// Positions of the numbers in a record. A sparse column that has occurred has a record: a value,
// and for each class a weight and a count of rows, 32 bytes for two classes. If squared weights are
// kept, sums of them replace the counts.
class RecordLayout {
  public:
    static constexpr std::uint64_t kMostRows = std::numeric_limits<std::uint32_t>::max();

    explicit RecordLayout(std::size_t n_classes = 2, Squares squares = Squares::none)
        : room_(std::max<std::size_t>(2, std::bit_ceil(n_classes))),
          squares_(squares),
          weights_at_(kSquares + 8 * n_squares()),
          of_class_(squares == Squares::none ? 12 : 8),
          // whole cache lines if half of one is too small
          units_(weight_at(room_) <= sizeof(RecordUnit) ? 1 : (weight_at(room_) + 63) / 64 * 2) {}

    std::size_t room() const { return room_; }  // for classes
    Squares squares() const { return squares_; }
    std::size_t n_squares() const { return count_of(squares_, room_); }
    std::size_t units() const { return units_; }
    std::size_t bytes() const { return units_ * sizeof(RecordUnit); }
    std::size_t weight_at(std::size_t cls) const { return weights_at_ + of_class_ * cls; }
    std::size_t squared_at(std::size_t k) const { return kSquares + 8 * k; }

    double value(const std::byte* record) const { return at<double>(record); }
    double weight(const std::byte* record, std::size_t cls) const {
        return at<double>(record + weight_at(cls));
    }
    // At most kMostRows; 0 if squares are kept.
    std::uint64_t rows(const std::byte* record, std::size_t cls) const {
        return squares_ == Squares::none ? at<std::uint32_t>(record + weight_at(cls) + kRows) : 0;
    }
    // Sum of squares of all classes, or of the kth of them.
    double squared(const std::byte* record, std::size_t k) const {
        return at<double>(record + squared_at(k));
    }

    void set_value(std::byte* record, double value) const { put(record, value); }
    void add(std::byte* record, std::size_t cls, double weight, std::uint64_t rows) const {
        std::byte* of_class = record + weight_at(cls);
        put(of_class, at<double>(of_class) + weight);
        if (squares_ != Squares::none) return;
        put(of_class + kRows,
            static_cast<std::uint32_t>(std::min(this->rows(record, cls) + rows, kMostRows)));
    }
    void add_squared(std::byte* record, std::size_t k, double squared) const {
        put(record + squared_at(k), this->squared(record, k) + squared);
    }
    void scale(std::byte* record, double factor) const {
        for (std::size_t c = 0; c < room_; ++c)
            put(record + weight_at(c), weight(record, c) * factor);
        for (std::size_t k = 0; k < n_squares(); ++k)
            put(record + squared_at(k), squared(record, k) * (factor * factor));
    }
    // Copies a record of another layout to an empty record. If only this layout has squares, all
    // rows so far weigh 1 each.
    void convert(const RecordLayout& from, const std::byte* theirs, std::byte* record) const {
        set_value(record, from.value(theirs));
        for (std::size_t k = 0; k < from.n_squares(); ++k)
            add_squared(record, k, from.squared(theirs, k));
        for (std::size_t c = 0; c < from.room_; ++c) {
            add(record, c, from.weight(theirs, c), from.rows(theirs, c));
            if (squares_ != from.squares_)
                add_squared(record, place_in(squares_, c), from.weight(theirs, c));
        }
    }

    static constexpr std::size_t kRows = 8;  // a count of rows comes after its weight

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

  private:
    static constexpr std::size_t kSquares = 8;  // after the value

    std::size_t room_;
    Squares squares_;
    std::size_t weights_at_;
    std::size_t of_class_;  // bytes
    std::size_t units_;
};

}  // namespace driftsieve
