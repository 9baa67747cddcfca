#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "driftsieve/base/views.hpp"

namespace driftsieve {

// Row and column of the first value that is infinite, or NaN unless allowed.
template <class T>
std::optional<std::pair<std::size_t, std::size_t>> find_bad_value(const MatrixView<T>& matrix,
                                                                  bool allow_nan) {
    const auto is_bad = [=](T v) { return std::isinf(v) || (!allow_nan && std::isnan(v)); };
    for (std::size_t i = 0; i < matrix.n_rows; ++i) {
        if (matrix.col_stride == 1) {
            // 0 * v is 0 unless v is infinite or NaN, so that one sum checks many values
            const T* row = matrix.row(i);
            T sum[8] = {};
            std::size_t j = 0;
            for (; j + 8 <= matrix.n_cols; j += 8)
                for (std::size_t k = 0; k < 8; ++k) sum[k] += row[j + k] * T{0};
            T all = 0;
            for (const T s : sum) all += s;
            for (; j < matrix.n_cols; ++j) all += row[j] * T{0};
            if (all == T{0}) continue;
        }
        for (std::size_t j = 0; j < matrix.n_cols; ++j)
            if (is_bad(matrix.at(i, j))) return std::pair{i, j};
    }
    return std::nullopt;
}

// Whether the columns of consecutive sparse rows are valid for a CsrView: ascending within each
// row, at least 0 and below n_cols.
template <class Index>
bool rows_are_canonical(std::span<const Index> indices, std::span<const Index> indptr,
                        std::size_t n_cols) {
    for (std::size_t i = 0; i + 1 < indptr.size(); ++i) {
        if (indptr[i] > indptr[i + 1]) return false;
        const auto begin = static_cast<std::size_t>(indptr[i]);
        const auto end = static_cast<std::size_t>(indptr[i + 1]);
        if (end > indices.size()) return false;
        if (begin == end) continue;
        int falls = 0;  // no early exit, so that the loop is vectorised
        for (std::size_t k = begin + 1; k < end; ++k) falls |= indices[k] <= indices[k - 1];
        if (falls != 0 || indices[begin] < 0 ||
            static_cast<std::size_t>(indices[end - 1]) >= n_cols)
            return false;
    }
    return true;
}

// The same for all rows.
template <class Index>
bool are_canonical(std::span<const Index> indices, std::span<const Index> indptr,
                   std::size_t n_cols) {
    return !indptr.empty() && indptr[0] == 0 && rows_are_canonical(indices, indptr, n_cols);
}

// Errors in rows that have not been validated.
struct BadRows : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};
struct NotFinite : BadRows {
    NotFinite() : BadRows("a value is infinite or missing") {}
};
struct NotCanonical : BadRows {
    NotCanonical() : BadRows("columns do not rise, or do not exist") {}
};

template <class T>
void require_finite(const MatrixView<T>& matrix) {
    if (find_bad_value(matrix, false)) throw NotFinite();
}

// If sums of values, or of their squares, are finite, so are the values: an infinity or NaN never
// leaves a sum. The converse does not hold: sums may overflow.
inline bool are_finite(std::span<const double> sums) {
    double all = 0.0;
    for (const double sum : sums) all += sum * 0.0;
    return all == 0.0;
}

}  // namespace driftsieve
