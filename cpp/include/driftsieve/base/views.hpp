#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace driftsieve {

// A dense matrix in the caller's memory, of any strides (counted in values).
template <class T>
struct MatrixView {
    const T* data = nullptr;
    std::ptrdiff_t row_stride = 0;
    std::ptrdiff_t col_stride = 1;
    std::size_t n_rows = 0;
    std::size_t n_cols = 0;

    const T* row(std::size_t i) const { return data + static_cast<std::ptrdiff_t>(i) * row_stride; }
    T at(std::size_t i, std::size_t j) const {
        return row(i)[static_cast<std::ptrdiff_t>(j) * col_stride];
    }
    MatrixView rows(std::size_t begin, std::size_t count) const {
        return {row(begin), row_stride, col_stride, count, n_cols};
    }
    MatrixView columns(std::size_t begin, std::size_t count) const {
        return {data + static_cast<std::ptrdiff_t>(begin) * col_stride, row_stride, col_stride,
                n_rows, count};
    }
};

// Sparse rows in the caller's memory; columns ascend within a row. An absent entry is 0.
template <class T, class Index>
struct CsrView {
    const T* data = nullptr;
    const Index* indices = nullptr;
    const Index* indptr = nullptr;
    std::size_t n_rows = 0;
    std::size_t n_cols = 0;
    // False if the order of the columns and the bounds of the rows have not been validated.
    bool is_canonical = true;
    std::size_t n_stored = 0;
};

// Class, sample weight and clock reading of each row.
struct RowInfo {
    std::span<const std::uint32_t> classes;
    std::span<const double> weights;  // empty: all 1
    std::span<const double> times;    // empty without fading

    double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
    double time(std::size_t i) const { return times.empty() ? 0.0 : times[i]; }
    RowInfo part(std::size_t begin, std::size_t count) const {
        return {classes.subspan(begin, count),
                weights.empty() ? weights : weights.subspan(begin, count),
                times.empty() ? times : times.subspan(begin, count)};
    }
};

}  // namespace driftsieve
