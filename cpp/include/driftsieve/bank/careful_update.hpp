#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "driftsieve/bank.hpp"
#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/validate.hpp"

namespace driftsieve {

template <class T>
MatrixView<T> values_of(const MatrixView<T>& matrix) {
    return matrix;
}
template <class T, class Index>
MatrixView<T> values_of(const CsrView<T, Index>& matrix) {
    return {matrix.data, 0, 1, 1, matrix.n_stored};
}

inline constexpr std::size_t kPart = std::size_t{1} << 16;  // values that a thread checks at a time

template <class T>
bool is_sound(const MatrixView<T>& matrix, bool ignore_missing, unsigned n_threads = 1) {
    const std::size_t chunk = kPart / std::max<std::size_t>(1, matrix.n_cols) + 1;
    std::atomic<bool> sound = true;
    parallel_chunks(matrix.n_rows, chunk, n_threads, [&](std::size_t lo, std::size_t hi) {
        if (sound && find_bad_value(matrix.rows(lo, hi - lo), ignore_missing)) sound = false;
    });
    return sound;
}
template <class T, class Index>
bool is_sound(const CsrView<T, Index>& matrix, bool ignore_missing, unsigned n_threads = 1) {
    const std::span indices(matrix.indices, matrix.n_stored);
    const MatrixView<T> values = values_of(matrix);
    // equal numbers of rows, and of values, for each part
    const std::size_t n_parts = matrix.n_stored / kPart + 1;
    const auto cut = [=](std::size_t n, std::size_t k) {
        return n / n_parts * k + n % n_parts * k / n_parts;
    };
    std::atomic<bool> sound = matrix.indptr[0] == 0;
    parallel_chunks(n_parts, 1, n_threads, [&](std::size_t k, std::size_t) {
        const std::size_t row = cut(matrix.n_rows, k);
        const std::size_t value = cut(matrix.n_stored, k);
        if (sound &&
            (!rows_are_canonical(
                 indices, std::span(matrix.indptr + row, cut(matrix.n_rows, k + 1) - row + 1),
                 matrix.n_cols) ||
             find_bad_value(values.columns(value, cut(matrix.n_stored, k + 1) - value),
                            ignore_missing)))
            sound = false;
    });
    return sound;
}
template <class T>
MatrixView<T> with_canonical_rows(const MatrixView<T>& matrix) {
    return matrix;
}
template <class T, class Index>
CsrView<T, Index> with_canonical_rows(CsrView<T, Index> matrix) {
    matrix.is_canonical = true;
    return matrix;
}

// Whether update() throws BadRows, and the bank is small enough to be copied before.
template <class Rows>
bool sees_bad_rows(const Bank& bank, const Rows& rows) {
    constexpr std::size_t kFewRows = 256;  // the copy takes less time than the check
    constexpr std::size_t kSmall = 16;
    constexpr bool is_csr = requires { rows.indptr; };
    const auto values = values_of(rows);
    return !bank.config().ignore_missing && rows.n_rows > kFewRows &&
           (is_csr ? !bank.config().quantiles && !bank.is_dense() : !bank.is_sparse()) &&
           bank.nbytes() <= values.n_rows * values.n_cols * sizeof(*values.data) / kSmall;
}

// Adds rows that have not been validated. If a value is infinite, or NaN and not allowed, or the
// columns of sparse rows are not as in a CsrView, it returns false, without a change.
//
// A separate check takes as long as reading the rows. Dense rows that are only kept are checked
// while they are copied. If the bank is small compared to the rows, it is copied instead: adding
// the rows then checks them on the way (see DenseStore and SparseMoments), and the copy replaces
// the bank if they are not valid.
template <class Rows>
bool update_if_sound(Bank& bank, const Rows& rows, const RowInfo& info, std::size_t n_classes,
                     unsigned n_threads) {
    if constexpr (!requires { rows.indptr; })
        if (!bank.config().ignore_missing && bank.only_keeps(rows.n_rows, rows.n_cols))
            return bank.keep_if_finite(rows, info, n_classes, n_threads);
    if (!sees_bad_rows(bank, rows)) {
        if (!is_sound(rows, bank.config().ignore_missing, n_threads)) return false;
        bank.update(with_canonical_rows(rows), info, n_classes, n_threads);
        return true;
    }
    Bank before = bank;
    try {
        bank.update(rows, info, n_classes, n_threads);
        return true;
    } catch (const BadRows&) {
        bank = std::move(before);
        return false;
    } catch (...) {
        bank = std::move(before);
        throw;
    }
}

}  // namespace driftsieve
