#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace driftsieve::bind {

namespace nb = nanobind;

using Index = nb::typed<nb::dict, nb::object, nb::int_>;

// Null if there is none.
inline PyObject* find(const Index& index, PyObject* key) {
    PyObject* found = PyDict_GetItemWithError(index.ptr(), key);
    if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
    return found;
}

// Whether two keys are certainly equal, without running any code of theirs: strings or small
// numbers that are the same, as those of rows that were made one by one.
[[gnu::noinline]] inline bool surely_equal(PyObject* a, PyObject* b) {
    if (PyLong_CheckExact(a) && PyLong_CheckExact(b)) {
        int far = 0;
        int far_too = 0;
        const bool equal =
            PyLong_AsLongAndOverflow(a, &far) == PyLong_AsLongAndOverflow(b, &far_too);
        return equal && far == 0 && far_too == 0;
    }
    // which cannot fail for two strings
    return PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0;
}

// The columns of keys. Rows of a stream mostly have the same keys in the same order. So the order
// of an earlier row predicts the next key, and one comparison confirms it. A key that was not
// predicted is looked up, and predicts its successor.
class KeyOrder {
  public:
    static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

    explicit KeyOrder(Index index) : index_(std::move(index)) {}

    std::size_t size() const { return static_cast<std::size_t>(PyDict_Size(index_.ptr())); }

    // One walk through the keys of a row.
    class Reader {
      public:
        explicit Reader(const KeyOrder& order)
            : order_(order),
              keys_(order.keys_.data()),
              columns_(order.columns_.data()),
              n_(order.keys_.size()) {}

        // Whether this is certainly the predicted key, whose column next() then returns.
        bool expects(PyObject* key) const {
            return next_ < n_ &&
                   (keys_[next_].ptr() == key || surely_equal(keys_[next_].ptr(), key));
        }
        std::size_t next() { return columns_[next_++]; }

        // The column of the next key, or kUnknown.
        std::size_t column(PyObject* key) { return expects(key) ? next() : look_up(key); }

        std::size_t n_looked_up() const { return n_looked_up_; }

      private:
        const KeyOrder& order_;
        const nb::object* keys_;
        const std::uint32_t* columns_;
        std::size_t n_;
        std::size_t next_ = 0;
        std::size_t n_looked_up_ = 0;

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

    // Uses the keys of a row for later predictions, if the present ones were mostly wrong. If rows
    // keep differing, as with words, that is tried less and less often.
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
    Index index_;
    std::vector<nb::object> keys_;
    std::vector<std::uint32_t> columns_;
    std::vector<std::uint32_t> after_;  // by column: the position after its key, 0 if unknown
    std::size_t patience_ = 0;          // rows to skip before the next attempt
    std::size_t passed_over_ = 0;

    void remember(PyObject* row) {
        keys_.clear();
        columns_.clear();
        after_.assign(size(), 0);
        const Py_ssize_t n_keys = PyDict_Size(row);
        Py_ssize_t position = 0;
        PyObject* key = nullptr;
        while (PyDict_Next(row, &position, &key, nullptr)) {
            nb::object held = nb::borrow(key);  // its comparison may run any code
            PyObject* found = find(index_, key);
            if (found == nullptr) return;
            const auto column = nb::cast<std::uint32_t>(nb::handle(found));
            if (column >= after_.size()) return;
            keys_.push_back(std::move(held));
            columns_.push_back(column);
            after_[column] = static_cast<std::uint32_t>(keys_.size());
            if (PyDict_Size(row) != n_keys) return;
        }
    }
};

}  // namespace driftsieve::bind
