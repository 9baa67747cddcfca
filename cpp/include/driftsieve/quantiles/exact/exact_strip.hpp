#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/base/row_block.hpp"
#include "driftsieve/base/strip_sums.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/quantiles/exact/edge_finder.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace driftsieve {

// A few adjacent columns of rows that are not summarized and have weight 1: moments and exact
// quantile bins.
class ExactStrip {
  public:
    static constexpr std::size_t kWidth = Kernels::kStrip;

    static bool serves(const RowBlock& block) {
        return block.weights.empty() && !block.order.empty() &&
               block.order.size() <= EdgeFinder::kMostRows;
    }

    // Columns [lo, hi) of the block, cut into n_bins; 0 means no cut.
    void read(const MatrixView<double>& matrix, const RowBlock& block, std::size_t lo,
              std::size_t hi, std::size_t n_bins) {
        block_ = &block;
        width_ = hi - lo;
        n_edges_ = n_bins == 0 ? 0 : n_bins - 1;
        read_rows(matrix, lo);
        if (n_edges_ == 0) return;
        const std::size_t groups = (n_edges_ + kAtOnce - 1) / kAtOnce;
        edges_.resize(groups * kAtOnce * kWidth);
        above_.resize(groups * block.n_classes() * kAtOnce * kWidth);
        for (std::size_t g = 0; g < groups; ++g)
            finder_.find(g * kAtOnce, n_bins, whole_, edges_.data() + g * kAtOnce * kWidth,
                         above_.data() + g * block.n_classes() * kAtOnce * kWidth);
    }

    // All below: column j of the strip.
    //
    // Whether no value is missing or so near the limits of double that differences overflow;
    // otherwise only the values can be used.
    bool is_whole(std::size_t j) const { return whole_[j]; }

    void values(std::size_t j, double* out) const {
        for (std::size_t k = 0; k < size(); ++k) out[k] = rows_.row(block_->order[k])[j];
    }

    Moments moments(std::size_t cls, std::size_t j) const {
        return sums_[cls].moments(block_->class_weights[cls], j);
    }

    double edge(std::size_t e, std::size_t j) const {
        return edges_[e * kWidth + j] + 0.0;  // -0.0 becomes 0.0
    }

    // Rows of a class, and those of them above edge e.
    double rows(std::size_t cls) const { return block_->class_weights[cls]; }
    double above(std::size_t e, std::size_t cls, std::size_t j) const {
        const std::size_t group = e / kAtOnce * block_->n_classes() + cls;
        return static_cast<double>(above_[(group * kAtOnce + e % kAtOnce) * kWidth + j]);
    }

  private:
    static constexpr std::size_t kAtOnce = EdgeFinder::kAtOnce;

    const RowBlock* block_ = nullptr;
    std::size_t width_ = 0;
    std::size_t n_edges_ = 0;
    MatrixView<double> rows_;  // kWidth columns
    Room<double> padded_;
    std::vector<StripClassSums> sums_;
    std::array<bool, kWidth> whole_;
    EdgeFinder finder_;
    Room<double> edges_;
    Room<std::int16_t> above_;

    std::size_t size() const { return block_->order.size(); }

    // Sums and keys in one pass, class after class.
    void read_rows(const MatrixView<double>& matrix, std::size_t lo) {
        rows_ = {matrix.data + lo, matrix.row_stride, 1, size(), kWidth};
        if (width_ < kWidth) rows_ = pad(rows_);
        finder_.begin(rows_, *block_);
        sums_.resize(block_->n_classes());
        whole_.fill(true);
        for (std::size_t c = 0; c < block_->n_classes(); ++c) {
            const std::size_t first = block_->begin[c];
            const std::size_t count = block_->begin[c + 1] - first;
            StripClassSums& of = sums_[c];
            of = {};
            if (count == 0) continue;
            std::copy_n(rows_.row(block_->order[first]), kWidth, of.shift.begin());
            kernels().read_rows(
                {rows_.data, rows_.row_stride, block_->order.data() + first, nullptr, count},
                of.shift.data(), finder_.rule(), of.sums, finder_.keys() + first * kWidth);
            for (std::size_t j = 0; j < kWidth; ++j)
                whole_[j] = whole_[j] && std::isfinite(of.sums.sum[j]);
        }
    }

    // Repeats the last column if there are fewer than kWidth.
    MatrixView<double> pad(const MatrixView<double>& from) {
        padded_.resize(size() * kWidth);
        for (std::size_t i = 0; i < size(); ++i)
            for (std::size_t j = 0; j < kWidth; ++j)
                padded_[i * kWidth + j] = from.row(i)[std::min(j, width_ - 1)];
        return {padded_.data(), kWidth, 1, size(), kWidth};
    }
};

}  // namespace driftsieve
