#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "dict_entries.hpp"

namespace driftsieve::bind {
namespace {

bool entries_are_readable = false;  // set at import

using Row = nb::typed<nb::dict, nb::object, nb::object>;
using Index = nb::typed<nb::dict, nb::object, nb::int_>;
using Keys = nb::typed<nb::tuple, nb::object, nb::ellipsis>;
template <class T>
using Values = nb::ndarray<nb::numpy, const T>;
// the written-out columns; data, indices and indptr of the others; classes, weights, times
using Rows = std::tuple<Values<double>, Values<double>, Values<std::int64_t>, Values<std::int64_t>,
                        Values<std::int64_t>, Values<double>, Values<double>>;

// Gathers labelled rows that come as dictionaries, until a bank takes them. `columns` and `classes`
// number the keys and the labels. The first `width` columns are written out, `absent` where a row
// does not have the key; of the columns after them only what a row has is kept, as CSR with columns
// counted from `width`. Rows have a time, or not, as `timed` says.
class RowCollector {
  public:
    RowCollector(Index columns, Index classes, std::size_t width, double absent, bool allow_nan,
                 bool timed)
        : index_(std::move(columns)),
          class_index_(std::move(classes)),
          width_(width),
          absent_(absent),
          allow_nan_(allow_nan),
          timed_(timed) {}

    // How many rows there are with this one; 0, and it is not kept, if its label or one of its keys
    // has no number yet.
    std::size_t append(const Row& x, nb::handle y, double weight, std::optional<double> time) {
        check(weight, time);
        PyObject* cls = find(class_index_, y.ptr());
        if (cls == nullptr) return 0;
        const std::size_t begin = size() * width_;
        const std::size_t extra = data_.size();
        if (dense_.size() < begin + width_) dense_.resize(2 * begin + width_);
        bool taken = false;
        try {
            taken = repeat(x.ptr(), dense_.data() + begin) || walk(x.ptr(), dense_.data() + begin);
        } catch (...) {
            drop(extra);
            throw;
        }
        if (!taken) {
            drop(extra);
            return 0;
        }
        indptr_.push_back(static_cast<std::int64_t>(data_.size()));
        classes_.push_back(nb::cast<std::int64_t>(nb::handle(cls)));
        weights_.push_back(weight);
        if (timed_) times_.push_back(*time);
        return size();
    }

    std::size_t size() const { return classes_.size(); }

    // Views of the rows, good until the next call of another method.
    Rows rows(nb::handle self) {
        const auto view = [&](auto& values) {
            using T = typename std::decay_t<decltype(values)>::value_type;
            return Values<T>(values.data(), {values.size()}, self);
        };
        return Rows(Values<double>(dense_.data(), {size(), width_}, self), view(data_),
                    view(indices_), view(indptr_), view(classes_), view(weights_), view(times_));
    }

    void clear() {
        drop(0);
        indptr_.assign(1, 0);
        classes_.clear();
        weights_.clear();
        times_.clear();
    }

  private:
    Index index_;
    Index class_index_;
    std::size_t width_;
    double absent_;
    bool allow_nan_;
    bool timed_;
    std::vector<double> dense_;  // grows, and is used again
    std::vector<double> data_;
    std::vector<std::int64_t> indices_;
    std::vector<std::int64_t> indptr_{0};
    std::vector<std::int64_t> classes_;
    std::vector<double> weights_;
    std::vector<double> times_;
    std::vector<nb::object> order_;     // the keys of the last row that was walked, in its order
    std::vector<std::size_t> columns_;  // and their columns
    bool all_written_ = false;          // whether they are all among the written-out ones

    void check(double weight, std::optional<double> time) const {
        const auto got = [](double number) {
            return std::string(nb::repr(nb::float_(number)).c_str()) + ".";
        };
        if (!(std::isfinite(weight) && weight >= 0.0))
            throw nb::value_error(
                ("w must be finite and not negative, got " + got(weight)).c_str());
        if (time.has_value() != timed_)
            throw nb::value_error(
                timed_ ? "clock=\"time\" needs the timestamps of the rows: pass t."
                       : "t is used with clock=\"time\" only; this clock is another.");
        if (timed_ && !std::isfinite(*time))
            throw nb::value_error(("t must be finite, got " + got(*time)).c_str());
    }

    static PyObject* find(const Index& index, PyObject* key) {
        PyObject* found = PyDict_GetItemWithError(index.ptr(), key);
        if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
        return found;
    }

    void drop(std::size_t extra) {
        data_.resize(extra);
        indices_.resize(extra);
    }

    // A row of finite floats under the keys, object by object, of the last one, all of them in
    // written-out columns: what a stream mostly consists of. False if it is not.
    bool repeat(PyObject* x, double* row) const {
        if (!entries_are_readable || !all_written_) return false;
        // copies that the stores below cannot be taken to change
        return visit_entries(x, [row, this, order = order_.data(), columns = columns_.data(),
                                 floats = &PyFloat_Type](const auto* entries, std::size_t count) {
            if (count != order_.size()) return false;
            if (count < width_) std::fill_n(row, width_, absent_);
            constexpr std::uint64_t exponent = 0x7FF0'0000'0000'0000;  // all ones: NaN or infinite
            bool finite = true;
            for (std::size_t i = 0; i < count; ++i) {
                PyObject* value = entries[i].value;
                if (entries[i].key != order[i].ptr() || Py_TYPE(value) != floats) return false;
                const double number = PyFloat_AS_DOUBLE(value);
                finite &= (std::bit_cast<std::uint64_t>(number) & exponent) != exponent;
                row[columns[i]] = number;
            }
            return finite;
        });
    }

    bool walk(PyObject* x, double* row) {
        std::fill_n(row, width_, absent_);
        order_.clear();
        columns_.clear();
        all_written_ = true;
        Py_ssize_t position = 0;
        PyObject* key = nullptr;
        PyObject* value = nullptr;
        while (PyDict_Next(x, &position, &key, &value)) {
            PyObject* found = find(index_, key);
            if (found == nullptr) return false;
            const auto column = nb::cast<std::size_t>(nb::handle(found));
            order_.push_back(nb::borrow(key));
            columns_.push_back(column);
            const double number = finite_number(key, value);
            if (column < width_) {
                row[column] = number;
            } else {
                all_written_ = false;
                data_.push_back(number);
                indices_.push_back(static_cast<std::int64_t>(column - width_));
            }
        }
        return true;
    }

    double finite_number(PyObject* key, PyObject* value) const {
        const double number = PyFloat_AsDouble(value);
        const auto named = [&](const std::string& what) {
            return std::string("x[") + nb::repr(nb::handle(key)).c_str() + "] " + what;
        };
        if (number == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            const std::string shown = nb::repr(nb::handle(value)).c_str();
            throw nb::type_error(named("must be a number, got " + shown + ".").c_str());
        }
        if (std::isinf(number)) throw nb::value_error(named("is infinite.").c_str());
        if (std::isnan(number) && !allow_nan_)
            throw nb::value_error(
                named("is NaN. Pass missing=\"ignore\" to leave missing values out.").c_str());
        return number;
    }
};

Row pick(const Row& x, const Keys& keys) {
    Row picked;
    for (const nb::handle key : keys) {
        PyObject* value = PyDict_GetItemWithError(x.ptr(), key.ptr());
        if (value != nullptr ? PyDict_SetItem(picked.ptr(), key.ptr(), value) != 0
                             : PyErr_Occurred() != nullptr)
            throw nb::python_error();
    }
    return picked;
}

}  // namespace

void register_rows(nb::module_& m) {
    entries_are_readable = probe_entries();
    nb::class_<RowCollector>(m, "RowCollector")
        .def(nb::init<Index, Index, std::size_t, double, bool, bool>(), nb::arg("columns"),
             nb::arg("classes"), nb::arg("width"), nb::arg("absent"), nb::arg("allow_nan"),
             nb::arg("timed"))
        .def("append", &RowCollector::append, nb::arg("x"), nb::arg("y").none(), nb::arg("weight"),
             nb::arg("time").none())
        .def("rows", [](nb::handle self) { return nb::cast<RowCollector&>(self).rows(self); })
        .def("clear", &RowCollector::clear)
        .def("__len__", &RowCollector::size);
    m.def("pick", &pick, nb::arg("x"), nb::arg("keys"),
          "A dictionary of those of the keys that x has, in their order.");
}

}  // namespace driftsieve::bind
