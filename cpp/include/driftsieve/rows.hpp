#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "driftsieve/fading.hpp"

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

// Sparse rows in the caller's memory; within a row the columns rise. An absent entry is 0.
template <class T, class Index>
struct CsrView {
    const T* data = nullptr;
    const Index* indices = nullptr;
    const Index* indptr = nullptr;
    std::size_t n_rows = 0;
    std::size_t n_cols = 0;
    // False where nobody has seen yet whether columns rise, and stay within the rows and the
    // n_stored values there are.
    bool is_canonical = true;
    std::size_t n_stored = 0;
};

// What comes with the values of each row: class, sample weight and clock reading.
struct RowInfo {
    std::span<const std::uint32_t> classes;
    std::span<const double> weights;  // empty: all 1
    std::span<const double> times;    // empty where nothing fades

    RowInfo part(std::size_t begin, std::size_t count) const {
        return {classes.subspan(begin, count),
                weights.empty() ? weights : weights.subspan(begin, count),
                times.empty() ? times : times.subspan(begin, count)};
    }
};

// For what has come from bytes: says no to a state that no stream could have left.
inline void require(bool sound) {
    if (!sound) throw std::invalid_argument("the bytes do not describe a possible bank");
}

inline void require_weight(double weight) {
    require(weight >= 0.0 && weight < std::numeric_limits<double>::infinity());
}

struct ClassTotal {
    double weight = 0.0;
    double weight_squared = 0.0;
    std::uint64_t rows = 0;

    void add(double w) {
        weight += w;
        weight_squared += w * w;
        ++rows;
    }
};

// What the rows weigh, class by class, and the epoch (see Fading) their weights are relative to.
struct Ledger {
    std::vector<ClassTotal> totals;
    std::int64_t epoch = std::numeric_limits<std::int64_t>::min();

    bool empty() const { return epoch == std::numeric_limits<std::int64_t>::min(); }

    void check(std::size_t n_classes, const Fading& fading) const {
        require(totals.size() <= n_classes);
        for (const ClassTotal& total : totals) {
            require_weight(total.weight);
            require(total.weight_squared >= 0.0);
        }
        require(empty() ||
                (fading.fades() ? std::abs(epoch) < (std::int64_t{1} << 54) : epoch == 0));
    }

    // Moves on to `target` if that is later; returns what stored weights are to be multiplied by.
    double advance(std::int64_t target) {
        if (target <= epoch) return 1.0;
        const double factor = empty() ? 1.0 : Fading::rebase_factor(target - epoch);
        epoch = target;
        for (ClassTotal& total : totals) {
            total.weight *= factor;
            total.weight_squared *= factor * factor;
        }
        return factor;
    }

    // Adds what other rows weigh; factor brings their weights to our epoch.
    void add(const Ledger& other, std::span<const std::uint32_t> class_map, std::size_t n_classes,
             double factor) {
        totals.resize(n_classes);
        for (std::size_t c = 0; c < other.totals.size(); ++c) {
            ClassTotal& total = totals[class_map[c]];
            total.weight += other.totals[c].weight * factor;
            total.weight_squared += other.totals[c].weight_squared * factor * factor;
            total.rows += other.totals[c].rows;
        }
    }

    // All rows as if their clock had read `ticks` more, which makes `latest` the last reading;
    // returns the factor for stored weights.
    double shift(double ticks, double latest, const Fading& fading) {
        if (!fading.fades() || ticks == 0.0) return 1.0;
        const std::int64_t target = fading.epoch_of(latest);
        const double factor = fading.weight(ticks, target - epoch - 1);
        epoch = target;
        for (ClassTotal& total : totals) {
            total.weight *= factor;
            total.weight_squared *= factor * factor;
        }
        return factor;
    }

    std::uint64_t rows() const {
        return std::accumulate(
            totals.begin(), totals.end(), std::uint64_t{0},
            [](std::uint64_t sum, const ClassTotal& total) { return sum + total.rows; });
    }
};

}  // namespace driftsieve
