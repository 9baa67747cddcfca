#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <span>

#include "driftsieve/rows.hpp"

namespace nb = nanobind;

// numpy arrays in and out. Nothing is copied: `noconvert` on the arguments keeps it so.
namespace driftsieve::bind {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<nb::numpy, double>;

template <class T>
MatrixView<T> view(const Matrix<T>& matrix) {
    return {matrix.data(), matrix.stride(0), matrix.stride(1), matrix.shape(0), matrix.shape(1)};
}

template <class T>
std::span<const T> view(const Vector<T>& vector) {
    return {vector.data(), vector.shape(0)};
}

template <class T>
std::span<const T> view(const std::optional<Vector<T>>& vector) {
    return vector ? view(*vector) : std::span<const T>{};
}

inline RowInfo row_info(const Vector<std::uint32_t>& classes,
                        const std::optional<Vector<double>>& weights,
                        const std::optional<Vector<double>>& times) {
    return {view(classes), view(weights), view(times)};
}

inline Doubles new_array(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (const std::size_t n : shape) {
        if (n != 0 && size > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double) / n)
            throw std::bad_alloc();
        size *= n;
    }
    auto* data = new double[size == 0 ? 1 : size];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Doubles(data, shape.size(), shape.begin(), owner);
}

}  // namespace driftsieve::bind
