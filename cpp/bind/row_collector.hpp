#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "driftsieve/base/fading.hpp"
#include "driftsieve/dense/open_rows.hpp"
#include "key_order.hpp"
#include "shared_bank.hpp"
#include "turn.hpp"

namespace driftsieve::bind {

using Row = nb::typed<nb::dict, nb::object, nb::object>;
template <class T>
using Values = nb::ndarray<nb::numpy, const T>;
// the dense columns; data, indices and indptr of the others; classes, weights, times
using Rows = std::tuple<Values<double>, Values<double>, Values<std::int64_t>, Values<std::int64_t>,
                        Values<std::int64_t>, Values<double>, Values<double>>;

// Result of adding a row; plain numbers, because Python gets one for each row.
enum Answer : int {
    kTaken,
    kUnknown,  // its label or one of its keys is new
    kNoRoom,
};

// Collects labelled rows that are dictionaries, until a bank takes them. `columns` and `classes`
// number the keys and the labels. The first `width` columns are dense, with `absent` for keys that
// a row does not have; the columns after them are CSR, counted from `width`. Dense columns are
// written into the buffer of the bank, if one gets all of them. Rows have times if `timed`. Rows
// that a bank of that half-life would refuse are refused here, one by one, and not later with other
// rows. Rows are added and taken by one thread at a time.
class RowCollector {
  public:
    RowCollector(Index columns, Index classes, std::size_t width, double absent, bool allow_nan,
                 bool timed, double half_life, SharedBank* bank, const Turn& turn)
        : order_(std::move(columns)),
          class_index_(std::move(classes)),
          width_(width),
          absent_(absent),
          allow_nan_(allow_nan),
          timed_(timed),
          fading_(half_life),
          bank_(bank),
          turn_(turn) {}

    // Largest numbers of rows, and of values beyond the dense columns.
    void make_room(std::size_t rows, std::size_t values) {
        require_idle();
        most_rows_ = rows;
        most_values_ = values;
    }

    // Refuses a weight or a time that no bank accepts.
    void check(double weight, std::optional<double> time) const {
        const auto got = [](double number) {
            return std::string(nb::repr(nb::float_(number)).c_str()) + ".";
        };
        if (!(std::isfinite(weight) && weight >= 0.0))
            throw nb::value_error(
                ("w must be finite and not negative, got " + got(weight)).c_str());
        if (weight > 1e140)
            throw nb::value_error(("w must be at most 1e140, got " + got(weight) +
                                   " Divide all weights by the same number.")
                                      .c_str());
        if (time.has_value() != timed_)
            throw nb::value_error(
                timed_ ? "time must be given with clock=\"time\", got None."
                       : "time must be given with clock=\"time\" only, got it with another clock.");
        if (!timed_) return;
        if (!std::isfinite(*time))
            throw nb::value_error(("time must be finite, got " + got(*time)).c_str());
        fading_.epoch_of(*time);  // throws if that is too far from 0
    }

    // A row that is refused has no effect.
    Answer append(const Row& x, nb::handle y, double weight, std::optional<double> time) {
        require_idle();
        turn_.require_ours();
        check(weight, time);
        PyObject* cls = find(class_index_, y.ptr());
        if (cls == nullptr) return kUnknown;
        if (size() >= most_rows_) return kNoRoom;
        const std::size_t extra = data_.size();
        double* const row = place(size());
        Answer answer = kUnknown;
        reading_ = true;
        try {
            answer = take(x.ptr(), row);
        } catch (...) {
            reading_ = false;
            drop(extra);
            throw;
        }
        reading_ = false;
        if (answer == kTaken && data_.size() > most_values_) answer = kNoRoom;
        if (answer != kTaken) {
            drop(extra);
            return answer;
        }
        indptr_.push_back(static_cast<std::int64_t>(data_.size()));
        classes_.push_back(nb::cast<std::int64_t>(nb::handle(cls)));
        weights_.push_back(weight);
        if (timed_) times_.push_back(*time);
        return answer;
    }

    std::size_t size() const { return classes_.size(); }
    std::size_t n_values() const { return data_.size(); }

    std::size_t nbytes() const {
        return room_.nbytes() + 8 * (data_.capacity() + indices_.capacity() + indptr_.capacity() +
                                     classes_.capacity() + weights_.capacity() + times_.capacity());
    }

    // Upper bound of nbytes() with so many more rows and values, if `columns` of the rows are
    // stored here and not in a bank. The lists may have twice the capacity that they need.
    std::size_t most_bytes_with(std::size_t rows, std::size_t values, std::size_t columns) const {
        rows += size();
        values += n_values();
        const std::size_t lists = 2 * sizeof(double) * (4 * rows + 2 * values);
        return std::max(nbytes(), lists + sizeof(double) * columns * rows);
    }

    // Views of the rows, for the rest of the turn.
    Rows rows(nb::handle self) {
        require_idle();
        turn_.require_ours();
        const auto view = [&](auto& values) {
            using T = typename std::decay_t<decltype(values)>::value_type;
            return Values<T>(values.data(), {values.size()}, self);
        };
        return Rows(Values<double>(first_, {size(), width_}, self), view(data_), view(indices_),
                    view(indptr_), view(classes_), view(weights_), view(times_));
    }

    void clear() {
        require_idle();
        turn_.require_ours();
        drop(0);
        indptr_.assign(1, 0);
        classes_.clear();
        weights_.clear();
        times_.clear();
    }

  private:
    KeyOrder order_;
    Index class_index_;
    std::size_t width_;
    double absent_;
    bool allow_nan_;
    bool timed_;
    Fading fading_;
    bool reading_ = false;
    std::size_t most_rows_ = 1;
    std::size_t most_values_ = std::numeric_limits<std::size_t>::max();
    SharedBank* bank_;
    const Turn& turn_;
    OpenRows room_;            // used without a bank
    double* first_ = nullptr;  // the dense columns of the first row
    std::vector<double> data_;
    std::vector<std::int64_t> indices_;
    std::vector<std::int64_t> indptr_{0};
    std::vector<std::int64_t> classes_;
    std::vector<double> weights_;
    std::vector<double> times_;

    // The conversion of a value may run arbitrary code, which must not add other rows.
    void require_idle() const {
        if (reading_)
            throw std::runtime_error("A row must not be learned while another one is read.");
    }

    // The position of waiting row i.
    double* place(std::size_t i) {
        double* const row = bank_ == nullptr ? room_.place(i, width_, most_rows_)
                                             : bank_->place(i, width_, most_rows_);
        if (i == 0) first_ = row;
        return row;
    }

    void drop(std::size_t extra) {
        data_.resize(extra);
        indices_.resize(extra);
    }

    Answer take(PyObject* x, double* row) {
        const Py_ssize_t n_keys = PyDict_Size(x);
        if (static_cast<std::size_t>(n_keys) < width_ || order_.size() > width_)
            std::fill_n(row, width_, absent_);
        KeyOrder::Reader reader(order_);
        Py_ssize_t position = 0;
        PyObject* key = nullptr;
        PyObject* value = nullptr;
        while (PyDict_Next(x, &position, &key, &value)) {
            // The common case, which runs no code of the objects.
            const double plain = plain_number(value);
            if (std::isfinite(plain) && reader.expects(key)) {
                put(row, reader.next(), plain);
                continue;
            }
            // Conversion and lookup may run arbitrary code, which may remove the key or replace
            // the value.
            const nb::object held = nb::borrow(key);
            const double number = number_of(key, value);
            const std::size_t column = reader.column(key);
            if (column == KeyOrder::kUnknown) return kUnknown;
            put(row, column, number);
            if (PyDict_Size(x) != n_keys)
                throw std::runtime_error("x must not change while it is read.");
        }
        order_.learn(x, reader);
        return kTaken;
    }

    void put(double* row, std::size_t column, double number) {
        if (column < width_) {
            row[column] = number;
        } else {
            data_.push_back(number);
            indices_.push_back(static_cast<std::int64_t>(column - width_));
        }
    }

    // The number of a float; NaN for any other object.
    static double plain_number(PyObject* value) {
        return PyFloat_CheckExact(value) ? PyFloat_AsDouble(value)
                                         : std::numeric_limits<double>::quiet_NaN();
    }

    double number_of(PyObject* borrowed_key, PyObject* borrowed) const {
        if (const double plain = plain_number(borrowed); std::isfinite(plain)) return plain;
        const nb::object key = nb::borrow(borrowed_key);  // the conversion may run any code
        const nb::object value = nb::borrow(borrowed);
        const double number = PyFloat_AsDouble(value.ptr());
        const auto named = [&](const std::string& what) {
            return std::string("x[") + nb::repr(key).c_str() + "] " + what;
        };
        if (number == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            const std::string shown = nb::repr(value).c_str();
            throw nb::type_error(named("must be a number, got " + shown + ".").c_str());
        }
        if (std::isinf(number)) throw nb::value_error(named("must be finite.").c_str());
        if (std::isnan(number) && !allow_nan_)
            throw nb::value_error(
                named("must not be NaN. Pass missing=\"ignore\" to leave missing values out.")
                    .c_str());
        return number;
    }
};

}  // namespace driftsieve::bind
