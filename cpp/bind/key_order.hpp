#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <bit>
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
            const std::size_t same =
                run_while(entries, row, [](PyObject* a, PyObject* b) { return a == b; });
            return same + run_while(entries.from(same), row, surely_equal);
        }

        std::size_t n_looked_up() const { return n_looked_up_; }

      private:
        const KeyOrder& order_;
        const nb::object* keys_;
        const std::uint32_t* columns_;
        std::size_t n_;
        std::size_t next_ = 0;
        std::size_t n_looked_up_ = 0;

        // Only locals are used, which the stores cannot be taken to change.
        template <class Entries, class Equal>
        std::size_t run_while(const Entries& entries, double* row, const Equal& equal) {
            constexpr std::uint64_t exponent = 0x7FF0'0000'0000'0000;  // all ones: NaN or infinite
            constexpr std::size_t kAhead = 24;  // the rows of a list are not in the cache
            if (next_ >= order_.n_leading_) return 0;
            const nb::object* const keys = keys_ + next_;
            const std::uint32_t* const columns = columns_ + next_;
            const std::size_t size = std::min(entries.size, order_.n_leading_ - next_);
            const double* const next_row = row + order_.width_ + next_;
            std::size_t i = 0;
            for (; i < size; ++i) {
                if (i + kAhead < size) __builtin_prefetch(entries.value(i + kAhead));
                if (i % 8 == 0) __builtin_prefetch(next_row + i, 1);
                PyObject* value = entries.value(i);
                if (value == nullptr || !PyFloat_CheckExact(value)) break;
                if (!equal(entries.key(i), keys[i].ptr())) break;
                const double number = PyFloat_AS_DOUBLE(value);
                if ((std::bit_cast<std::uint64_t>(number) & exponent) == exponent) break;
                row[columns[i]] = number;
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
