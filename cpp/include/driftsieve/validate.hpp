#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "driftsieve/rows.hpp"

namespace driftsieve {

// Row and column of the first value that is infinite, or NaN unless allowed.
template <class T>
std::optional<std::pair<std::size_t, std::size_t>> find_bad_value(const MatrixView<T>& matrix,
                                                                  bool allow_nan) {
    const auto is_bad = [=](T v) { return std::isinf(v) || (!allow_nan && std::isnan(v)); };
    for (std::size_t i = 0; i < matrix.n_rows; ++i) {
        if (matrix.col_stride == 1) {
            // 0 * v is 0 unless v is infinite or NaN: a sum tells at the speed of reading
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

struct NotFinite : std::invalid_argument {
    NotFinite() : std::invalid_argument("a value is infinite or missing") {}
};

template <class T>
void require_finite(const MatrixView<T>& matrix) {
    if (find_bad_value(matrix, false)) throw NotFinite();
}

// Where sums of values, or of their squares, are finite, so are the values: an infinity or NaN that
// has come into a sum never leaves it. The other way round it need not be: sums may overflow.
inline bool are_finite(std::span<const double> sums) {
    double all = 0.0;
    for (const double sum : sums) all += sum * 0.0;
    return all == 0.0;
}

}  // namespace driftsieve
