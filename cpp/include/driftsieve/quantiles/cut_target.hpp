#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace driftsieve {

// The output of a cut: edges are K - 1 values, NaN for a column without weight; bins are K x C
// weights, multiplied by `unit`, with class c at class_place[c].
struct CutTarget {
    std::span<const std::uint32_t> class_place;
    std::size_t n_bins;
    double unit;
    double* edges;
    double* bins;

    std::size_t n_classes() const { return class_place.size(); }
    std::size_t n_edges() const { return n_bins - 1; }
    double& at(std::size_t bin, std::size_t cls) const {
        return bins[bin * n_classes() + class_place[cls]];
    }
    // The result for a column without weight.
    void clear() const {
        std::fill_n(edges, n_edges(), std::numeric_limits<double>::quiet_NaN());
        std::fill_n(bins, n_bins * n_classes(), 0.0);
    }
    void scale() const {
        if (unit != 1.0)
            for (std::size_t k = 0; k < n_bins * n_classes(); ++k) bins[k] *= unit;
    }
};

}  // namespace driftsieve
