#pragma once

#include <cmath>
#include <cstddef>

namespace driftsieve {

// A cumulative weight has reached i * W / K from this share of it on, so that rounding of sums does
// not move an edge. The offline reference uses the same number.
inline constexpr double kEdgeTolerance = 1e-12;

// Cumulative weight that edge number `edge`, counted from 0, must reach.
inline double edge_goal(std::size_t edge, double total, std::size_t n_bins) {
    return static_cast<double>(edge + 1) * total / static_cast<double>(n_bins) *
           (1.0 - kEdgeTolerance);
}

// The same for n rows of weight 1: the edge is the value of this rank, 1 for the smallest.
inline std::size_t edge_rank(std::size_t edge, std::size_t n, std::size_t n_bins) {
    return static_cast<std::size_t>(std::ceil(edge_goal(edge, static_cast<double>(n), n_bins)));
}

// Adds in parts, so that the error of a sum of a million weights is well within the tolerance.
class RunningSum {
  public:
    static constexpr std::size_t kStretch = 256;

    void add(double weight) {
        stretch_ += weight;
        if (++count_ % kStretch != 0) return;
        before_ += stretch_;
        stretch_ = 0.0;
    }
    double value() const { return before_ + stretch_; }

  private:
    double before_ = 0.0;
    double stretch_ = 0.0;
    std::size_t count_ = 0;
};

}  // namespace driftsieve
