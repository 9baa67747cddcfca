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

#include "driftsieve/base/views.hpp"
#include "driftsieve/memory/large_room.hpp"

namespace nb = nanobind;

// numpy arrays in and out. Nothing is copied: `noconvert` on the arguments keeps it so.
namespace driftsieve::bind {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<nb::numpy, double>;

// Whether it is exactly a numpy array: subclasses may mask some of their values.
inline bool is_plain_array(nb::handle object) {
    static const nb::handle type =
        nb::object(nb::module_::import_("numpy").attr("ndarray")).release();
    return object.type().is(type);
}

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

inline std::size_t size_of(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (const std::size_t n : shape) {
        if (n != 0 && size > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double) / n)
            throw std::bad_alloc();
        size *= n;
    }
    return size;
}

// Arrays with a common lifetime. Their memory is freed with the last of them, and reused by the
// next ones.
class NewArrays {
  public:
    // Number of values in all arrays.
    explicit NewArrays(std::size_t size)
        : room_(new KeptRoom<double>(size_of({size + 1}))),
          owner_(room_, [](void* p) noexcept { delete static_cast<KeptRoom<double>*>(p); }) {}

    Doubles make(std::initializer_list<std::size_t> shape) {
        double* data = room_->data() + used_;
        used_ += size_of(shape);
        return Doubles(data, shape.size(), shape.begin(), owner_);
    }

  private:
    KeptRoom<double>* room_;
    nb::capsule owner_;
    std::size_t used_ = 0;
};

}  // namespace driftsieve::bind
