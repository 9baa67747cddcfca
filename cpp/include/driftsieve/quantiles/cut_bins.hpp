#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "driftsieve/quantiles/cut_target.hpp"

namespace driftsieve {

// Quantile bins of a column that were cut before it is read.
struct CutBins {
    std::span<const double> edges;  // K - 1, NaN where the column has no weight
    std::span<const double> bins;   // K x C
    double rank_error = 0.0;

    std::size_t n_classes() const { return bins.size() / (edges.size() + 1); }
    double weight(std::size_t cls) const {
        double sum = 0.0;
        for (std::size_t k = cls; k < bins.size(); k += n_classes()) sum += bins[k];
        return sum;
    }
    double copy(const CutTarget& out) const {
        std::copy(edges.begin(), edges.end(), out.edges);
        std::fill_n(out.bins, out.n_bins * out.n_classes(), 0.0);
        for (std::size_t k = 0; k < bins.size(); ++k)
            out.at(k / n_classes(), k % n_classes()) = bins[k];
        out.scale();
        return rank_error;
    }
};

}  // namespace driftsieve
