#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/bank/careful_update.hpp"

namespace driftsieve {

// Upper bounds of the size of a bank after a change, known before the change.
//
// Up to `limit`, the answer is never less than nbytes() will be. An answer beyond `limit` is at
// most 1.25 times the later nbytes(); if the answer must be certain, nbytes() would exceed the
// limit. Fast bounds come first. Values are counted only near the limit, and rows are added to a
// copy only if counting is not enough.
class Forecast {
  public:
    Forecast(Bank& bank, std::size_t limit, bool be_sure, unsigned n_threads)
        : bank_(bank), limit_(limit), be_sure_(be_sure), n_threads_(n_threads) {}

    // With these rows, which are valid (see update_if_sound) if `is_sound()` says so: if bounds are
    // not enough the rows are read, and invalid rows need no memory.
    template <class Rows, class IsSound>
    std::size_t with_rows(const Rows& rows, const RowInfo& info, std::size_t n_classes,
                          const IsSound& is_sound) {
        for (const bool measured : {false, true}) {
            const std::size_t bytes = bound(rows, info, n_classes, measured);
            if (bytes <= limit_) return bytes;
        }
        return is_sound() ? counted(rows, info, n_classes, true) : 0;
    }

    // An upper bound without reading the values; measuring walks over the state.
    template <class Rows>
    std::size_t bound(const Rows& rows, const RowInfo& info, std::size_t n_classes, bool measured) {
        const Coming coming = bank_.coming(rows, info, n_classes);
        if (measured) bank_.measure(coming);
        return bank_.most_bytes_with(coming, requires { rows.n_stored; });
    }

    // Valid rows, added to a copy.
    template <class Rows>
    std::size_t tried(const Rows& rows, const RowInfo& info, std::size_t n_classes) const {
        return counted(rows, info, n_classes, false);
    }

    // With the rows of another bank; see Bank::merge.
    std::size_t with_bank(const Bank& other, std::span<const std::uint32_t> class_map,
                          std::span<const std::size_t> target, std::size_t n_classes,
                          std::size_t n_features, double start) const {
        const std::size_t most = most_with_bank(other, n_classes, n_features);
        const std::size_t least = least_with_bank(other, n_features);
        if (most <= limit_ || least > limit_) return std::max(least, std::min(most, limit_));
        return tried_bank(other, class_map, target, n_classes, n_features, start);
    }

    // A bound without a copy; the largest number if there is none.
    std::size_t most_with_bank(const Bank& other, std::size_t n_classes,
                               std::size_t n_features) const {
        if (!bank_.is_dense() && !other.is_dense()) return std::numeric_limits<std::size_t>::max();
        Coming coming;
        coming.columns = n_features;
        coming.classes = n_classes;
        coming.may_shrink = true;
        return sizeof(Bank) + (bank_.rungs() > 1 ? ladder_of(0).most_bytes(coming)
                                                 : DenseStore(bank_.config_, 0).most_bytes(coming));
    }

    std::size_t tried_bank(const Bank& other, std::span<const std::uint32_t> class_map,
                           std::span<const std::size_t> target, std::size_t n_classes,
                           std::size_t n_features, double start) const {
        const std::size_t least = least_with_bank(other, n_features);
        if (least > limit_) return least;
        Bank trial = bank_;
        const std::size_t spare = spare_bytes(bank_.nbytes(), trial.nbytes());
        trial.merge(other, class_map, target, n_classes, n_features, start, n_threads_);
        return trial.nbytes() + spare;
    }

  private:
    Bank& bank_;
    std::size_t limit_;
    bool be_sure_;
    unsigned n_threads_;

    LadderStore ladder_of(std::size_t n_features) const {
        return {bank_.config_, bank_.half_lives_, n_features};
    }

    std::size_t least_with_bank(const Bank& other, std::size_t n_features) const {
        return bank_.is_dense() || other.is_dense() ? n_features * sizeof(FeatureState) : 0;
    }

    // Counts the values of valid rows; if that is not enough, adds them to a copy.
    template <class Rows>
    std::size_t counted(const Rows& rows, const RowInfo& info, std::size_t n_classes,
                        bool bounds_will_do) const {
        constexpr bool is_csr = requires { rows.n_stored; };
        const Coming coming = bank_.coming(rows, info, n_classes);
        std::size_t bytes = bank_.most_bytes_with(coming, is_csr);
        std::vector<double> times;
        RowInfo timed = info;
        Timeline(bank_.timeline_).read(rows.n_rows, timed, times);
        const std::size_t now = bank_.nbytes();
        const bool becomes_sparse = bank_.is_empty() && is_csr;
        if (bank_.is_sparse() || becomes_sparse) {
            const std::size_t count_of_values = count(rows, coming);
            if (!bank_.config_.quantiles) return count_of_values;
            bytes = std::min(bytes, count_of_values);
        }
        if (bounds_will_do && (bytes <= limit_ || (!be_sure_ && bytes <= now + now / 4)))
            return bytes;
        if constexpr (!is_csr)
            if (!bank_.is_sparse()) {
                if (const auto* ladder = std::get_if<LadderStore>(&bank_.store_))
                    return try_columns(rows, timed, *ladder);
                if (const auto* dense = std::get_if<DenseStore>(&bank_.store_))
                    return try_columns(rows, timed, *dense);
                if (bank_.rungs() > 1) return try_columns(rows, timed, ladder_of(rows.n_cols));
                return try_columns(rows, timed, DenseStore(bank_.config_, rows.n_cols));
            }
        return try_rows(rows, timed, coming, bytes);
    }

    template <class Rows>
    std::size_t count(const Rows& rows, const Coming& coming) const {
        std::size_t bytes = sizeof(Bank);
        const auto add = [&](const auto& store) {
            bytes += store.bounds().bytes_with(rows, coming);
        };
        bank_.with_sparse(add);
        if (bank_.is_empty()) bank_.with_new_columns(0, add);
        return bytes;
    }

    // Dense rows in a dense bank: a few columns at a time, so that only these are copied.
    template <class T, class Store>
    std::size_t try_columns(const MatrixView<T>& matrix, const RowInfo& info,
                            const Store& store) const {
        constexpr std::size_t kColumns = 256;
        std::size_t copied = 0;
        std::size_t n_classes = bank_.n_classes();
        for (const std::uint32_t cls : info.classes)
            n_classes = std::max<std::size_t>(n_classes, cls + 1);
        std::size_t bytes =
            sizeof(Bank) + store.open_bytes_with(matrix.n_rows, matrix.n_cols, n_classes);
        for (std::size_t begin = 0; begin < matrix.n_cols; begin += kColumns) {
            const std::size_t n = std::min(kColumns, matrix.n_cols - begin);
            Store part = store.cut(begin, n);
            copied += part.feature_bytes();
            part.update(matrix.columns(begin, n), info, bank_.fading(), n_threads_);
            bytes += part.feature_bytes();
            if (bytes > limit_) return bytes;
        }
        return bytes + spare_bytes(store.feature_bytes(), copied);
    }

    // In parts, and only up to the limit; `most` is the upper bound of the state.
    template <class Rows>
    std::size_t try_rows(const Rows& rows, const RowInfo& info, const Coming& coming,
                         std::size_t most) const {
        const std::size_t least = bank_.nbytes() + 8 * (coming.columns - bank_.n_features_);
        if (least > limit_) return least;
        Bank trial = bank_;
        const std::size_t spare = spare_bytes(bank_.nbytes(), trial.nbytes());
        trial.n_classes_ = coming.classes;
        const std::size_t n_parts = std::min(rows.n_rows, 1 + most / (limit_ / 4 + 1));
        const std::size_t step = (rows.n_rows + n_parts - 1) / n_parts;
        for (std::size_t i = 0; i < rows.n_rows; i += step) {
            const std::size_t n = std::min(step, rows.n_rows - i);
            trial.take(part_of(rows, i, n), info.part(i, n), n_threads_);
            if (trial.nbytes() + spare > limit_) break;
        }
        return trial.nbytes() + spare;
    }

    // Vectors of a copy have no spare capacity, so they grow less. Those of the bank may have twice
    // that capacity when they grow.
    static std::size_t spare_bytes(std::size_t bank, std::size_t copy) {
        return bank > copy ? 2 * (bank - copy) : 0;
    }
};

}  // namespace driftsieve
