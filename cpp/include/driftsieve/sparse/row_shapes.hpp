#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/base/validate.hpp"
#include "driftsieve/base/views.hpp"
#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Some of the rows, which have been validated.
template <class T>
MatrixView<T> part_of(const MatrixView<T>& matrix, std::size_t begin, std::size_t n) {
    return matrix.rows(begin, n);
}
template <class T, class Index>
CsrView<T, Index> part_of(CsrView<T, Index> matrix, std::size_t begin, std::size_t n) {
    matrix.indptr += begin;
    matrix.n_rows = n;
    matrix.is_canonical = true;
    return matrix;
}

// Calls use(i, row) with each dense row for a sparse store, without its zeros; if zeros count as
// values, with its zeros and without its missing values.
template <class T, class Use>
void for_each_sparse_row(const MatrixView<T>& matrix, bool zeros_count, const Use& use) {
    std::vector<double> values(matrix.n_cols);
    std::vector<std::int64_t> columns(matrix.n_cols);
    for (std::size_t i = 0; i < matrix.n_rows; ++i) {
        std::size_t count = 0;
        for (std::size_t j = 0; j < matrix.n_cols; ++j) {
            values[count] = static_cast<double>(matrix.at(i, j));
            columns[count] = static_cast<std::int64_t>(j);
            count += zeros_count ? !std::isnan(values[count]) : values[count] != 0.0;
        }
        use(i, SparseRow<double, std::int64_t>{values.data(), columns.data(), count, 0});
    }
}

// The same for sparse rows, in place. Throws NotCanonical if a row that is not validated is not
// within the stored values.
template <class T, class Index, class Use>
void for_each_sparse_row(const CsrView<T, Index>& matrix, bool /*zeros_count*/, const Use& use) {
    const auto end = matrix.is_canonical ? static_cast<std::size_t>(matrix.indptr[matrix.n_rows])
                                         : matrix.n_stored;
    for (std::size_t i = 0; i < matrix.n_rows; ++i) {
        const auto first = static_cast<std::size_t>(matrix.indptr[i]);
        const auto last = static_cast<std::size_t>(matrix.indptr[i + 1]);
        if (!matrix.is_canonical && (first > last || last > end || (i == 0 && first != 0)))
            throw NotCanonical();
        use(i, SparseRow<T, Index>{matrix.data + first, matrix.indices + first, last - first,
                                   end - last, matrix.is_canonical});
    }
}

// Calls use(column, values) with the values for which wanted(column, value) is true, column by
// column, in the order of the rows.
template <class Rows, class Wanted, class Use>
void for_each_column(const Rows& rows, bool zeros_count, const Wanted& wanted, const Use& use) {
    struct Given {
        std::size_t column;
        double value;
    };
    std::vector<Given> given;
    for_each_sparse_row(rows, zeros_count, [&](std::size_t, const auto& row) {
        for (std::size_t k = 0; k < row.count; ++k) {
            const double value = static_cast<double>(row.values[k]) + 0.0;  // -0 becomes 0
            const auto column = static_cast<std::size_t>(row.columns[k]);
            if ((value != 0.0 || zeros_count) && wanted(column, value))
                given.push_back({column, value});
        }
    });
    std::stable_sort(given.begin(), given.end(),
                     [](const Given& a, const Given& b) { return a.column < b.column; });
    std::vector<double> values;
    for (std::size_t i = 0; i < given.size();) {
        const std::size_t column = given[i].column;
        values.clear();
        for (; i < given.size() && given[i].column == column; ++i) values.push_back(given[i].value);
        use(column, values);
    }
}

// Calls use(i, matrix) with sparse rows for a dense store of `width` features, a few at a time from
// row i on, written out with `absent` for absent entries.
template <class T, class Index, class Use>
void for_each_dense_part(const CsrView<T, Index>& matrix, std::size_t width, double absent,
                         const Use& use) {
    constexpr std::size_t kRows = 256;
    std::vector<double> rows;
    for (std::size_t i = 0; i < matrix.n_rows; i += kRows) {
        const std::size_t count = std::min(kRows, matrix.n_rows - i);
        rows.assign(count * width, absent);
        for (std::size_t r = 0; r < count; ++r)
            for (Index k = matrix.indptr[i + r]; k < matrix.indptr[i + r + 1]; ++k)
                rows[r * width + static_cast<std::size_t>(matrix.indices[k])] =
                    static_cast<double>(matrix.data[k]);
        use(i,
            MatrixView<double>{rows.data(), static_cast<std::ptrdiff_t>(width), 1, count, width});
    }
}

}  // namespace driftsieve
