#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace driftsieve::bind {

// The labels of a bank, for single rows: a lookup in Python takes longer than all other work.
// Finds known labels of common types, and leaves all others to Python.
class KnownLabels {
  public:
    using Numbers = nb::typed<nb::dict, nb::object, std::uint32_t>;

    KnownLabels() = default;
    // The class of each label, all of one type; and if they are integers of 64 bits, the labels by
    // class.
    KnownLabels(Numbers numbers, const std::optional<Vector<std::int64_t>>& integers)
        : numbers_(std::move(numbers)) {
        for (const auto& [label, number] : numbers_) type_ = label.type();
        if (integers) integers_.assign(integers->data(), integers->data() + integers->shape(0));
    }

    std::size_t size() const { return numbers_.size(); }

    // False if a label is not known.
    bool find(nb::handle y, std::vector<std::uint32_t>& classes) const {
        Vector<std::int64_t> array;
        if (PyList_CheckExact(y.ptr())) return find(nb::borrow<nb::list>(y), classes);
        return is_plain_array(y) && nb::try_cast(y, array, false) && find(array, classes);
    }

  private:
    Numbers numbers_;
    nb::handle type_;  // of all labels
    std::vector<std::int64_t> integers_;

    bool find(const nb::list& y, std::vector<std::uint32_t>& classes) const {
        classes.reserve(y.size());
        for (const nb::handle label : y) {
            if (!label.type().is(type_)) return false;  // True is not 1
            PyObject* const number = PyDict_GetItemWithError(numbers_.ptr(), label.ptr());
            if (number == nullptr) return false;
            classes.push_back(nb::cast<std::uint32_t>(nb::handle(number)));
        }
        return true;
    }

    bool find(const Vector<std::int64_t>& y, std::vector<std::uint32_t>& classes) const {
        classes.reserve(y.shape(0));
        for (std::size_t i = 0; i < y.shape(0); ++i) {
            const auto place = std::find(integers_.begin(), integers_.end(), y.data()[i]);
            if (place == integers_.end()) return false;
            classes.push_back(static_cast<std::uint32_t>(place - integers_.begin()));
        }
        return true;
    }
};

}  // namespace driftsieve::bind
