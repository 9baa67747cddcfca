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
#include "dict_entries.hpp"
#include "driftsieve/fading.hpp"
#include "driftsieve/open_rows.hpp"
#include "key_order.hpp"
#include "shared_bank.hpp"
#include "turn.hpp"

namespace driftsieve::bind {

using Row = nb::typed<nb::dict, nb::object, nb::object>;
template <class T>
using Values = nb::ndarray<nb::numpy, const T>;
// the written-out columns; data, indices and indptr of the others; classes, weights, times
using Rows = std::tuple<Values<double>, Values<double>, Values<std::int64_t>, Values<std::int64_t>,
                        Values<std::int64_t>, Values<double>, Values<double>>;

// What becomes of a row; plain numbers, since Python gets one for each.
enum Answer : int {
    kTaken,
    kUnknown,  // its label or one of its keys has no number yet
    kNoRoom,
};

// Gathers labelled rows that come as dictionaries, until a bank takes them. `columns` and `classes`
// number the keys and the labels. The first `width` columns are written out, `absent` where a row
// does not have the key; of the columns after them only what a row has is kept, as CSR with columns
// counted from `width`. They are written to where the bank would keep them, if there is one that is
// to get all of these columns. Rows have a time, or not, as `timed` says. Whatever a bank of that
// half-life would refuse is refused here, when it comes, and not when the bank gets it with other
// rows. Rows are added and given away by one thread in its turn.
class RowCollector {
  public:
    RowCollector(Index columns, Index classes, std::size_t width, double absent, bool allow_nan,
                 bool timed, double half_life, SharedBank* bank, const Turn& turn)
        : order_(std::move(columns), width),
          class_index_(std::move(classes)),
          width_(width),
          absent_(absent),
          allow_nan_(allow_nan),
          timed_(timed),
          fading_(half_life),
          bank_(bank),
          turn_(turn) {}

    // How many rows, and values beyond the written-out columns, may be kept.
    void make_room(std::size_t rows, std::size_t values) {
        require_idle();
        most_rows_ = rows;
        most_values_ = values;
    }

    // Says no to a weight or a time that no bank would take.
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
                timed_ ? "clock=\"time\" needs the timestamps of the rows: pass t."
                       : "t is used with clock=\"time\" only; this clock is another.");
        if (!timed_) return;
        if (!std::isfinite(*time))
            throw nb::value_error(("t must be finite, got " + got(*time)).c_str());
        fading_.epoch_of(*time);  // throws if that is too far from 0
    }

    // A row that is not taken leaves no trace.
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
    OpenRows room_;            // where there is no bank
    double* first_ = nullptr;  // the written-out columns of the first row
    std::vector<double> data_;
    std::vector<std::int64_t> indices_;
    std::vector<std::int64_t> indptr_{0};
    std::vector<std::int64_t> classes_;
    std::vector<double> weights_;
    std::vector<double> times_;

    // The conversion of a value may run any code, which must leave the place of the row alone.
    void require_idle() const {
        if (reading_) throw std::runtime_error("a row cannot be learned while another one is read");
    }

    // The place of row i, of those that wait.
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

    // What a row's dictionary is walked through with.
    struct Taker {
        RowCollector& collector;
        KeyOrder::Reader reader;
        double* row;
        bool unknown = false;

        std::size_t run(const auto& entries) { return reader.run(entries, row); }

        bool visit(PyObject* key, PyObject* value) {
            // The value first: looking up the key may run code that replaces it.
            const double number = collector.number_of(key, value);
            const std::size_t column = reader.column(key);
            unknown = column == KeyOrder::kUnknown;
            if (unknown) return false;
            if (column < collector.width_) {
                row[column] = number;
            } else {
                collector.data_.push_back(number);
                collector.indices_.push_back(static_cast<std::int64_t>(column - collector.width_));
            }
            return true;
        }
    };

    Answer take(PyObject* x, double* row) {
        const auto n_keys = static_cast<std::size_t>(PyDict_Size(x));
        if (n_keys < width_ || order_.size() > width_) std::fill_n(row, width_, absent_);
        Taker taker{*this, KeyOrder::Reader(order_), row};
        const bool finished = walk(x, taker);
        if (taker.unknown) return kUnknown;
        if (!finished) throw std::runtime_error("x was changed while it was read");
        order_.learn(x, taker.reader);
        return kTaken;
    }

    double number_of(PyObject* borrowed_key, PyObject* borrowed) const {
        if (PyFloat_CheckExact(borrowed) && std::isfinite(PyFloat_AS_DOUBLE(borrowed)))
            return PyFloat_AS_DOUBLE(borrowed);
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
        if (std::isinf(number)) throw nb::value_error(named("is infinite.").c_str());
        if (std::isnan(number) && !allow_nan_)
            throw nb::value_error(
                named("is NaN. Pass missing=\"ignore\" to leave missing values out.").c_str());
        return number;
    }
};

}  // namespace driftsieve::bind
