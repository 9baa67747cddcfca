#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/edge_finder.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/row_block.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

// A few columns that lie side by side, of rows that are in no summary and weigh 1 each: moments and
// exact quantile bins.
class ExactStrip {
  public:
    static constexpr std::size_t kWidth = Kernels::kStrip;

    static bool serves(const RowBlock& block) {
        return block.weights.empty() && !block.order.empty() &&
               block.order.size() <= EdgeFinder::kMostRows;
    }

    // Columns [lo, hi) of the block, cut into n_bins; 0: not at all.
    void read(const MatrixView<double>& matrix, const RowBlock& block, std::size_t lo,
              std::size_t hi, std::size_t n_bins) {
        block_ = &block;
        width_ = hi - lo;
        n_edges_ = n_bins == 0 ? 0 : n_bins - 1;
        copy(matrix, lo);
        if (n_edges_ == 0) return;
        finder_.read(rows_.data(), size(), range_, whole_);
        const std::size_t groups = (n_edges_ + kAtOnce - 1) / kAtOnce;
        edges_.resize(groups * kAtOnce * kWidth);
        above_.resize(groups * block.n_classes() * kAtOnce * kWidth);
        for (std::size_t g = 0; g < groups; ++g) {
            double* edges = edges_.data() + g * kAtOnce * kWidth;
            finder_.find(g * kAtOnce, n_bins, edges);
            count_above(edges, above_.data() + g * block.n_classes() * kAtOnce * kWidth);
        }
    }

    // All below: column j of the strip.
    //
    // Whether no value is missing, nor so near the limits of double that differences overflow;
    // otherwise nothing else is of use but the values.
    bool is_whole(std::size_t j) const { return whole_[j]; }

    void values(std::size_t j, double* out) const {
        for (std::size_t k = 0; k < size(); ++k) out[k] = rows_[k * kWidth + j];
    }

    Moments moments(std::size_t cls, std::size_t j) const {
        const ClassSums& of = sums_[cls];
        return Moments::from_sums(block_->class_weights[cls], of.sums.sum[j], of.sums.squares[j],
                                  of.shift[j]);
    }

    double edge(std::size_t e, std::size_t j) const {
        return edges_[e * kWidth + j] + 0.0;  // there is one zero, not two
    }

    // Rows of a class, and those of them above edge e.
    double rows(std::size_t cls) const { return block_->class_weights[cls]; }
    double above(std::size_t e, std::size_t cls, std::size_t j) const {
        const std::size_t group = e / kAtOnce * block_->n_classes() + cls;
        return static_cast<double>(above_[(group * kAtOnce + e % kAtOnce) * kWidth + j]);
    }

  private:
    static constexpr std::size_t kAtOnce = EdgeFinder::kAtOnce;

    struct ClassSums {
        std::array<double, kWidth> shift;
        Kernels::StripSums sums;
    };

    const RowBlock* block_ = nullptr;
    std::size_t width_ = 0;
    std::size_t n_edges_ = 0;
    Room<double> rows_;  // class after class, kWidth columns side by side
    Room<double> padded_;
    std::vector<ClassSums> sums_;
    Kernels::StripRange range_;
    std::array<bool, kWidth> whole_;
    EdgeFinder finder_;
    Room<double> edges_;
    Room<std::int16_t> above_;

    std::size_t size() const { return block_->order.size(); }

    // Rows in the order of the block, and what is learnt on the way.
    void copy(const MatrixView<double>& matrix, std::size_t lo) {
        MatrixView<double> from = {matrix.data + lo, matrix.row_stride, 1, size(), kWidth};
        if (width_ < kWidth) from = pad(from);
        rows_.resize(size() * kWidth);
        sums_.resize(block_->n_classes());
        std::fill_n(range_.low, kWidth, std::numeric_limits<double>::infinity());
        std::fill_n(range_.high, kWidth, -std::numeric_limits<double>::infinity());
        whole_.fill(true);
        for (std::size_t c = 0; c < block_->n_classes(); ++c) {
            const std::size_t first = block_->begin[c];
            const std::size_t count = block_->begin[c + 1] - first;
            if (count == 0) {
                sums_[c] = {};
                continue;
            }
            ClassSums& of = sums_[c];
            std::copy_n(from.row(block_->order[first]), kWidth, of.shift.begin());
            kernels().copy_rows(
                {from.data, from.row_stride, block_->order.data() + first, nullptr, count},
                of.shift.data(), rows_.data() + first * kWidth, of.sums, range_);
            for (std::size_t j = 0; j < kWidth; ++j)
                whole_[j] = whole_[j] && std::isfinite(of.sums.sum[j]);
        }
    }

    // The last column again and again where there are fewer than kWidth.
    MatrixView<double> pad(const MatrixView<double>& from) {
        padded_.resize(size() * kWidth);
        for (std::size_t i = 0; i < size(); ++i)
            for (std::size_t j = 0; j < kWidth; ++j)
                padded_[i * kWidth + j] = from.row(i)[std::min(j, width_ - 1)];
        return {padded_.data(), kWidth, 1, size(), kWidth};
    }

    // Of each class, the rows above a group of edges.
    void count_above(const double* edges, std::int16_t* above) {
        for (std::size_t c = 0; c < block_->n_classes(); ++c)
            kernels().count_rows_above(rows_.data() + block_->begin[c] * kWidth,
                                       block_->begin[c + 1] - block_->begin[c], edges,
                                       above + c * kAtOnce * kWidth);
    }
};

}  // namespace driftsieve
