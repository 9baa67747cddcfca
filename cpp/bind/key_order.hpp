#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "dict_entries.hpp"

namespace driftsieve::bind {

namespace nb = nanobind;

using Index = nb::typed<nb::dict, nb::object, nb::int_>;

// Null where there is none.
inline PyObject* find(const Index& index, PyObject* key) {
    PyObject* found = PyDict_GetItemWithError(index.ptr(), key);
    if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
    return found;
}

// Whether two keys are certainly equal, without running any code of theirs: the same object, or
// strings or small numbers that are the same, as those of rows that were made one by one.
[[gnu::noinline]] inline bool surely_equal(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (PyLong_CheckExact(a) && PyLong_CheckExact(b)) {
        int far = 0;
        int far_too = 0;
        const bool equal =
            PyLong_AsLongAndOverflow(a, &far) == PyLong_AsLongAndOverflow(b, &far_too);
        return equal && far == 0 && far_too == 0;
    }
    if (!PyUnicode_CheckExact(a) || !PyUnicode_CheckExact(b)) return false;
    const Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    const auto kind = PyUnicode_KIND(a);
    return length == PyUnicode_GET_LENGTH(b) && kind == PyUnicode_KIND(b) &&
           std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                       static_cast<std::size_t>(length) * kind) == 0;
}

// The columns of keys. Rows of a stream mostly have the same keys in the same order, so the order
// of an earlier row foretells the next key, and comparing it is all there is to do; a key that was
// not foretold is looked up, and foretells what comes after it.
class KeyOrder {
  public:
    static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

    KeyOrder(Index index, std::size_t width) : index_(std::move(index)), width_(width) {}

    std::size_t size() const { return static_cast<std::size_t>(PyDict_Size(index_.ptr())); }

    // One walk through the keys of a row.
    class Reader {
      public:
        explicit Reader(const KeyOrder& order)
            : order_(order),
              keys_(order.keys_.data()),
              columns_(order.columns_.data()),
              n_(order.keys_.size()) {}

        // The column of the next key, or kUnknown.
        std::size_t column(PyObject* key) {
            if (next_ < n_ && surely_equal(keys_[next_].ptr(), key)) return columns_[next_++];
            return look_up(key);
        }

        // Writes the values of as many entries as there are that have the foretold keys, columns
        // below the width and finite floats, and returns their number: what a stream mostly
        // consists of.
        template <class Entries>
        std::size_t run(const Entries& entries, double* row) {
            const std::size_t same = run_same(entries, row);
            return same + run_equal(entries.from(same), row);
        }

        std::size_t n_looked_up() const { return n_looked_up_; }

      private:
        const KeyOrder& order_;
        const nb::object* keys_;
        const std::uint32_t* columns_;
        std::size_t n_;
        std::size_t next_ = 0;
        std::size_t n_looked_up_ = 0;

        static constexpr std::size_t kEight = 8;
        using Pair = std::uint64_t __attribute__((vector_size(16)));

        static std::uint64_t bits(PyObject* number) {
            return std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(number));
        }

        // Of so many entries as the order and the entries both have.
        template <class Entries>
        std::size_t n_common(const Entries& entries) const {
            return next_ < order_.n_leading_ ? std::min(entries.size, order_.n_leading_ - next_)
                                             : 0;
        }

        // Entries whose keys are the very objects that were foretold, eight at once.
        template <class Entries>
        std::size_t run_same(const Entries& entries, double* row) {
            constexpr std::size_t kAhead = 24;  // the rows of a list are not in the cache
            const nb::object* const keys = keys_ + next_;
            const std::uint32_t* const columns = columns_ + next_;
            const double* const next_row = row + order_.width_ + next_;
            const std::size_t size = n_common(entries) / kEight * kEight;
            std::size_t i = 0;
            for (; i < size; i += kEight) {
                __builtin_prefetch(next_row + i, 1);
                if (i + kAhead < size) entries.from(i + kAhead).template prefetch<kEight>();
                if (!copy_eight(entries.from(i), keys + i, columns + i, row)) break;
            }
            next_ += i;
            return i;
        }

        // False, and nothing written, where one of them is not as foretold, or no finite float.
        template <class Entries>
        [[gnu::always_inline]] static bool copy_eight(const Entries& entries,
                                                      const nb::object* keys,
                                                      const std::uint32_t* columns, double* row) {
            const Pair magnitude = Pair{} + ~(std::uint64_t{1} << 63);
            const Pair exponent_digit = Pair{} + (std::uint64_t{1} << 52);
            std::array<Pair, kEight / 2> numbers;
            Pair
                beyond{};  // 2^63 and more: all digits of an exponent are 1, as in NaN and infinity
#pragma GCC unroll 4
            for (std::size_t k = 0; k < kEight; k += 2) {
                // a deleted entry has no key
                if (entries.key(k) != keys[k].ptr() || !PyFloat_CheckExact(entries.value(k)))
                    return false;
                if (entries.key(k + 1) != keys[k + 1].ptr() ||
                    !PyFloat_CheckExact(entries.value(k + 1)))
                    return false;
                numbers[k / 2] = Pair{bits(entries.value(k)), bits(entries.value(k + 1))};
                beyond |= (numbers[k / 2] & magnitude) + exponent_digit;
            }
            if (((beyond[0] | beyond[1]) >> 63) != 0) return false;
#pragma GCC unroll 8
            for (std::size_t k = 0; k < kEight; ++k)
                row[columns[k]] = std::bit_cast<double>(numbers[k / 2][k % 2]);
            return true;
        }

        // Entries whose keys are equal to those that were foretold.
        template <class Entries>
        std::size_t run_equal(const Entries& entries, double* row) {
            const std::size_t size = n_common(entries);
            std::size_t i = 0;
            for (; i < size; ++i) {
                PyObject* const value = entries.value(i);
                if (value == nullptr || !PyFloat_CheckExact(value) ||
                    !std::isfinite(PyFloat_AS_DOUBLE(value)) ||
                    !surely_equal(entries.key(i), keys_[next_ + i].ptr()))
                    break;
                row[columns_[next_ + i]] = PyFloat_AS_DOUBLE(value);
            }
            next_ += i;
            return i;
        }

        std::size_t look_up(PyObject* key) {
            const nb::object held = nb::borrow(key);  // its comparison may run any code
            PyObject* found = find(order_.index_, key);
            if (found == nullptr) return kUnknown;
            ++n_looked_up_;
            const auto column = nb::cast<std::size_t>(nb::handle(found));
            if (column < order_.after_.size() && order_.after_[column] != 0)
                next_ = order_.after_[column];
            return column;
        }
    };

    // Lets the keys of a row foretell the next, if those that did were of little help with it.
    // Where no row is like the one before, as with words, that is tried less and less often.
    void learn(PyObject* row, const Reader& read) {
        const auto n_keys = static_cast<std::size_t>(PyDict_Size(row));
        if (8 * read.n_looked_up() <= n_keys) {
            patience_ = 0;
        } else if (passed_over_ < patience_) {
            ++passed_over_;
        } else {
            remember(row);
            passed_over_ = 0;
            patience_ = std::min<std::size_t>(2 * patience_ + 1, 63);
        }
    }

  private:
    template <class Visit>
    struct Visitor {
        Visit take;
        bool visit(PyObject* key, PyObject*) { return take(key); }
    };

    Index index_;
    std::size_t width_;
    std::vector<nb::object> keys_;
    std::vector<std::uint32_t> columns_;
    std::size_t n_leading_ = 0;  // of the keys: columns below the width, until one that is not
    std::vector<std::uint32_t> after_;  // by column: the place after its key, 0 where it has none
    std::size_t patience_ = 0;          // rows to pass over before the next is remembered
    std::size_t passed_over_ = 0;

    void remember(PyObject* row) {
        keys_.clear();
        columns_.clear();
        n_leading_ = 0;
        after_.assign(size(), 0);
        Visitor visitor{[&](PyObject* key) {
            nb::object held = nb::borrow(key);
            PyObject* found = find(index_, key);
            if (found == nullptr) return false;
            const auto column = nb::cast<std::uint32_t>(nb::handle(found));
            if (column >= after_.size()) return false;
            if (column < width_ && n_leading_ == keys_.size()) ++n_leading_;
            keys_.push_back(std::move(held));
            columns_.push_back(column);
            after_[column] = static_cast<std::uint32_t>(keys_.size());
            return true;
        }};
        walk_by_next(row, visitor);
    }
};

}  // namespace driftsieve::bind
