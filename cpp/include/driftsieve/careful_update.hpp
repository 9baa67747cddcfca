#pragma once

#include <cstddef>
#include <utility>

#include "driftsieve/bank.hpp"
#include "driftsieve/validate.hpp"

namespace driftsieve {

// Takes in rows that nobody has looked at. If a value is infinite, or NaN and not allowed, it says
// false and has changed nothing.
//
// To look first costs as much as to read the rows. Where the bank is small beside them it is copied
// instead: who sums rows up or copies them sees on the way whether all values are finite (see
// DenseStore), and if not, the copy takes the place of the bank.
template <class T>
bool update_if_finite(Bank& bank, const MatrixView<T>& matrix, const RowInfo& info,
                      std::size_t n_classes, unsigned n_threads) {
    constexpr std::size_t kFewRows = 256;  // less than it would take to find out
    constexpr std::size_t kSmall = 16;
    const bool ignore_missing = bank.config().ignore_missing;
    if (ignore_missing || bank.is_sparse() || matrix.n_rows <= kFewRows ||
        bank.nbytes() > matrix.n_rows * matrix.n_cols * sizeof(T) / kSmall) {
        if (find_bad_value(matrix, ignore_missing)) return false;
        bank.update(matrix, info, n_classes, n_threads);
        return true;
    }
    Bank before = bank;
    try {
        bank.update(matrix, info, n_classes, n_threads);
        return true;
    } catch (const NotFinite&) {
        bank = std::move(before);
        return false;
    } catch (...) {
        bank = std::move(before);
        throw;
    }
}

}  // namespace driftsieve
