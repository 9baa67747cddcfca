#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/base/views.hpp"
#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Sums over rows of some features, in the arrays of a caller: the weights above fixed edges, or the
// power sums of the values less a shift. Rows are added one after another, so the sums do not
// depend on how they were cut into batches.
struct RowSums {
    std::span<const std::uint64_t> features;  // ascending
    std::size_t n_classes = 0;
    bool are_moments = false;
    std::size_t n_edges = 0;
    // Edge after edge, of all features, and nothing is above NaN; or the shifts.
    const double* edges = nullptr;
    // For each edge the weights of the values above it; or the weighted sums and those of squares.
    // Then of missing values the weights and their squares, and of the stored values of sparse rows
    // likewise. Each by class and feature; if there is no room for missing values, there are none.
    std::span<double> sums;
    double* totals = nullptr;  // weights of the classes, and of their squares

    std::size_t n_first() const { return are_moments ? 2 : n_edges; }
    std::size_t n_features() const { return features.size(); }
    std::size_t of_plane() const { return n_classes * n_features(); }
    bool has_plane(std::size_t number) const {
        return sums.size() >= (n_first() + number + 1) * of_plane();
    }
    // Position in a plane behind the first ones.
    double& at(std::size_t plane, std::size_t cls, std::size_t j) const {
        return sums[(n_first() + plane) * of_plane() + cls * n_features() + j];
    }
    // Adds values of features [lo, lo + n), none of them missing.
    void add(const double* values, std::size_t lo, std::size_t n, std::size_t cls,
             double weight) const {
        double* into = sums.data() + cls * n_features() + lo;
        if (!are_moments) {
            kernels().weigh_above(values, n, {edges + lo, n_edges, n_features()}, weight, into,
                                  of_plane());
            return;
        }
        const std::uint32_t only = 0;
        kernels().row_power_sums(values, 0, &only, &weight, 1, n, edges + lo, into,
                                 into + of_plane());
    }
    void add_total(std::size_t cls, double weight) const {
        totals[cls] += weight;
        totals[n_classes + cls] += weight * weight;
    }
    void add_missing(std::size_t cls, std::size_t j, double weight) const {
        at(0, cls, j) += weight;
        at(1, cls, j) += weight * weight;
    }
};

inline double weight_of(const RowInfo& info, std::size_t i) {
    return info.weights.empty() ? 1.0 : info.weights[i];
}

// Counts missing values, and returns values that add nothing in place of them.
inline const double* without_missing(const double* values, double* copy, std::size_t lo,
                                     std::size_t n, std::size_t cls, double weight,
                                     const RowSums& to) {
    for (std::size_t j = 0; j < n; ++j) {
        const bool is_missing = std::isnan(values[j]);
        if (is_missing) to.add_missing(cls, lo + j, weight);
        const double nothing =
            to.are_moments ? to.edges[lo + j] : -std::numeric_limits<double>::infinity();
        copy[j] = is_missing ? nothing : values[j];
    }
    return copy;
}

template <class T>
void add_rows(const MatrixView<T>& rows, const RowInfo& info, const RowSums& to) {
    constexpr std::size_t kRows = 16;
    constexpr std::size_t kColumns = 128;  // at a time, so that their sums stay in cache
    for (std::size_t i = 0; i < rows.n_rows; ++i) to.add_total(info.classes[i], weight_of(info, i));
    const std::size_t m = to.n_features();
    const bool may_miss = m > 0 && to.has_plane(1);
    double copy[kColumns];
    for (std::size_t first = 0; first < rows.n_rows; first += kRows)
        for (std::size_t lo = 0; lo < m; lo += kColumns) {
            const std::size_t n = std::min(kColumns, m - lo);
            const bool are_adjacent =
                rows.col_stride == 1 && to.features[lo + n - 1] - to.features[lo] == n - 1;
            for (std::size_t i = first; i < std::min(first + kRows, rows.n_rows); ++i) {
                const double* values = copy;
                if constexpr (std::is_same_v<T, double>)
                    if (are_adjacent) values = rows.row(i) + to.features[lo];
                if (values == copy)
                    for (std::size_t j = 0; j < n; ++j)
                        copy[j] = static_cast<double>(rows.at(i, to.features[lo + j]));
                const std::size_t cls = info.classes[i];
                const double weight = weight_of(info, i);
                if (may_miss) values = without_missing(values, copy, lo, n, cls, weight, to);
                to.add(values, lo, n, cls, weight);
            }
        }
}

// Finds the places of some columns: a table with a few entries for each.
class ColumnPlaces {
  public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    explicit ColumnPlaces(std::span<const std::uint64_t> columns)
        : columns_(columns), table_(std::bit_ceil(4 * columns.size() + 4), kNone) {
        for (std::uint32_t j = 0; j < columns.size(); ++j) {
            std::size_t at = begin_of(columns[j]);
            while (table_[at] != kNone) at = (at + 1) & (table_.size() - 1);
            table_[at] = j;
        }
    }
    std::uint32_t operator[](std::uint64_t column) const {
        std::size_t at = begin_of(column);
        while (table_[at] != kNone && columns_[table_[at]] != column)
            at = (at + 1) & (table_.size() - 1);
        return table_[at];
    }

  private:
    std::span<const std::uint64_t> columns_;
    std::vector<std::uint32_t> table_;

    std::size_t begin_of(std::uint64_t column) const {
        return (column * 0x9E3779B97F4A7C15u >> 32) & (table_.size() - 1);
    }
};

// Of sparse rows, stored values alone. Zeros are left out, unless absent values are missing.
template <class T, class Index>
void add_rows(const CsrView<T, Index>& rows, const RowInfo& info, bool keeps_zeros,
              const RowSums& to) {
    const ColumnPlaces places(to.features);
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        const std::size_t cls = info.classes[i];
        const double weight = weight_of(info, i);
        to.add_total(cls, weight);
        const auto end = static_cast<std::size_t>(rows.indptr[i + 1]);
        for (auto k = static_cast<std::size_t>(rows.indptr[i]); k < end; ++k) {
            const std::uint32_t j = places[static_cast<std::uint64_t>(rows.indices[k])];
            if (j == ColumnPlaces::kNone) continue;
            const auto value = static_cast<double>(rows.data[k]);
            if (std::isnan(value)) {
                to.add_missing(cls, j, weight);
                continue;
            }
            if (value == 0.0 && !keeps_zeros) continue;
            to.at(2, cls, j) += weight;
            to.at(3, cls, j) += weight * weight;
            to.add(&value, j, 1, cls, weight);
        }
    }
}

}  // namespace driftsieve
