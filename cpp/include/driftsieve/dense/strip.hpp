#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/base/row_block.hpp"
#include "driftsieve/base/strip_sums.hpp"
#include "driftsieve/base/validate.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/room.hpp"
#include "driftsieve/quantiles/cells.hpp"

namespace driftsieve {

// A few adjacent columns of a block. Their rows are read once, class after class, and each value is
// replaced by the number of its finest cell. The moments of each class are computed in the same
// pass.
class Strip {
  public:
    static constexpr std::size_t kWidth = Kernels::kStrip;

    // Columns [lo, hi) of the block, in the cells that known(column) points to; if it is null, in
    // about `cells` new ones: see CellMap::fit().
    template <class T, class Known>
    void read(const MatrixView<T>& matrix, const RowBlock& block, std::size_t lo, std::size_t hi,
              std::size_t cells, const Known& known, std::size_t most_coarse = CellMap::kCoarse) {
        block_ = &block;
        rows_ = as_doubles(matrix, lo, hi);
        const std::size_t n = block.order.size();
        std::array<Kernels::CellRule, kWidth> rules;
        bool sampled = false;
        for (std::size_t j = 0; j < kWidth; ++j) {
            const CellMap* map = &maps_[j];  // columns beyond hi are not used
            if (lo + j < hi) map = known(lo + j);
            if (map == nullptr) {
                if (!sampled) take_sample(n);
                sampled = true;
                maps_[j].fit({sample_.data() + j * kSampleStride, CellMap::sample_size(n)}, cells,
                             most_coarse);
            } else if (map != &maps_[j]) {
                maps_[j] = *map;
            }
            rules[j] = maps_[j].rule();
        }
        finest_.resize(kWidth * n);
        moments_.resize(block.n_classes());
        for (std::size_t c = 0; c < block.n_classes(); ++c) {
            const std::size_t first = block.begin[c];
            const std::size_t count = block.begin[c + 1] - first;
            if (count == 0) continue;
            const double* shift = row(block.heaviest[c]);
            std::copy_n(shift, kWidth, moments_[c].shift.begin());
            moments_[c].sums = kernels().read_strip(
                {rows_.data, rows_.row_stride, block.order.data() + first,
                 block.weights.empty() ? nullptr : block.weights.data() + first, count},
                rules.data(), moments_[c].shift.data(), finest_.data() + first, n);
        }
        values_.clear();
        if (repeats_values()) {
            values_.resize(kWidth * n);
            kernels().gather_strip(rows_.data, rows_.row_stride, block.order.data(), n,
                                   values_.data());
        }
    }

    // All below: column j of the strip.
    BlockColumn column(std::size_t j) const {
        if (!values_.empty())
            return {values_.data() + j * block_->order.size(), 1, nullptr,
                    block_->weights_or_null(), block_->begin};
        return {rows_.data + j, rows_.row_stride, block_->order.data(), block_->weights_or_null(),
                block_->begin};
    }
    const CellMap& map(std::size_t j) const { return maps_[j]; }
    const std::uint32_t* finest(std::size_t j) const {
        return finest_.data() + j * block_->order.size();
    }

    // Whether a value is missing; then, and for values near the limits of double, the moments and
    // cells cannot be used.
    bool is_whole(std::size_t j) const {
        for (std::size_t c = 0; c < block_->n_classes(); ++c)
            if (block_->begin[c] != block_->begin[c + 1] && std::isnan(moments_[c].sums.sum[j]))
                return false;
        return true;
    }

    // If so, all values of the strip are finite.
    bool has_finite_sums() const {
        for (std::size_t c = 0; c < block_->n_classes(); ++c)
            if (block_->begin[c] != block_->begin[c + 1] &&
                (!are_finite(moments_[c].sums.sum) || !are_finite(moments_[c].sums.squares)))
                return false;
        return true;
    }

    Moments moments(std::size_t cls, std::size_t j) const {
        return moments_[cls].moments(block_->class_weights[cls], j);
    }

  private:
    // not a power of two, because the last bits of an address choose the position in the cache
    static constexpr std::size_t kSampleStride = CellMap::kSample + 8;

    const RowBlock* block_ = nullptr;
    MatrixView<double> rows_;  // kWidth columns side by side
    std::vector<double> copy_;
    std::vector<double> sample_;
    std::array<CellMap, kWidth> maps_;
    Room<std::uint32_t> finest_;  // column after column
    Room<double> values_;         // likewise, if the values are needed
    std::vector<StripClassSums> moments_;

    const double* row(std::size_t place) const { return rows_.row(block_->order[place]); }

    // In place, or copied, with columns of 0 if there are fewer than kWidth.
    template <class T>
    MatrixView<double> as_doubles(const MatrixView<T>& matrix, std::size_t lo, std::size_t hi) {
        if constexpr (std::is_same_v<T, double>)
            if (matrix.col_stride == 1 && hi - lo == kWidth)
                return {matrix.data + lo, matrix.row_stride, 1, matrix.n_rows, kWidth};
        copy_.assign(matrix.n_rows * kWidth, 0.0);
        for (std::size_t i = 0; i < matrix.n_rows; ++i)
            for (std::size_t j = lo; j < hi; ++j)
                copy_[i * kWidth + (j - lo)] = static_cast<double>(matrix.at(i, j));
        return {copy_.data(), kWidth, 1, matrix.n_rows, kWidth};
    }

    // Whether a column seems to have repeated values. These are separated from many close values by
    // comparing them, which is faster for contiguous values.
    bool repeats_values() const {
        constexpr std::size_t kRows = 128;
        const std::size_t step = block_->order.size() / kRows;
        std::array<std::size_t, kWidth> equal{};
        const double* before = row(0);
        for (std::size_t i = 1; step > 0 && i < kRows; ++i) {
            const double* values = row(i * step);
            for (std::size_t j = 0; j < kWidth; ++j) equal[j] += values[j] == before[j];
            before = values;
        }
        return std::any_of(equal.begin(), equal.end(), [](std::size_t count) { return count > 1; });
    }

    void take_sample(std::size_t n) {
        constexpr std::size_t kAhead = 32;  // rows to prefetch
        const std::size_t size = CellMap::sample_size(n);
        const std::size_t step = CellMap::sample_step(n);
        sample_.resize(kWidth * kSampleStride);
        for (std::size_t i = 0; i < size; ++i) {
            // by number, not by position, so that the choice of cells does not depend on classes
            const double* values = rows_.row(i * step);
            const double* ahead = rows_.row(std::min(i + kAhead, size - 1) * step);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + kWidth / 2);
            for (std::size_t j = 0; j < kWidth; ++j) sample_[j * kSampleStride + i] = values[j];
        }
    }
};

}  // namespace driftsieve
