#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "driftsieve/base/require.hpp"
#include "driftsieve/base/squares.hpp"

namespace driftsieve {

struct Config {
    static constexpr std::size_t kMostCells = std::size_t{1} << 14;

    double epsilon = 0.01;
    bool moments = true;
    bool quantiles = true;
    bool ignore_missing = false;
    // Absent entries of sparse rows are missing values instead of 0. Only if missing values are
    // ignored.
    bool absent_is_missing = false;

    bool operator==(const Config&) const = default;

    // Mass that new rows may hide, as a part of epsilon. The rest is left for merging the
    // summaries of many banks.
    double hidden_of(double weight) const { return 2.0 / 3.0 * epsilon * weight; }

    // Up to this many distinct values a summary is never pruned.
    std::size_t exact_values() const { return static_cast<std::size_t>(1.0 / epsilon) + 1; }
    // Approximate number of cells into which the values of a feature are counted.
    std::size_t cells() const { return quantiles ? std::min(4 * exact_values(), kMostCells) : 1; }

    // Number of values of a sparse feature that are summed up together, by counting them into
    // cells.
    std::size_t long_run() const { return 4 * exact_values(); }

    // Whether sparse features count the values that are missing; the absent ones need no count.
    bool counts_missing() const { return ignore_missing && !absent_is_missing; }
    // Sums of squared weights of sparse features, if rows fade or differ in weight.
    Squares squares() const { return absent_is_missing ? Squares::by_class : Squares::together; }

    void check_value(double value) const {
        require(std::isfinite(value) || (ignore_missing && std::isnan(value)));
    }
};

}  // namespace driftsieve
