#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/row_block.hpp"
#include "driftsieve/base/validate.hpp"
#include "driftsieve/dense/strip.hpp"
#include "driftsieve/feature/feature_state.hpp"
#include "driftsieve/kernels.hpp"

namespace driftsieve {

// A block, the factor of stored weights when it came, and the weight of all rows with it.
struct Arrival {
    RowBlock rows;
    double factor;
    std::vector<ClassTotal> totals;
};

// Adds blocks of rows to the states of features.
class DenseIntake {
  public:
    DenseIntake(const Config& config, std::span<FeatureState> features)
        : config_(config), features_(features) {}

    // Blocks of equal length, one after another. Threads divide the columns, not the blocks, so
    // they are started once for many blocks.
    template <class T>
    void take(const MatrixView<T>& matrix, std::span<const Arrival> blocks, unsigned n_threads) {
        // the first tile or strip is shorter, so that the others begin at a cache line
        const std::size_t lead = before_cache_line(matrix);
        const std::size_t n = features_.size() + lead;
        const std::size_t block_rows = matrix.n_rows / blocks.size();
        if (!config_.quantiles && !config_.ignore_missing) {
            // as much of a row as possible, one tile after another, for the hardware prefetcher
            const std::size_t strips = std::max<std::size_t>(1, (n + kStrip - 1) / kStrip);
            const std::size_t chunk = (strips + n_threads - 1) / n_threads * kStrip;
            parallel_chunks(n, chunk, n_threads, [&](std::size_t lo, std::size_t hi) {
                for (std::size_t i = 0; i < blocks.size(); ++i)
                    for (std::size_t j = lo; j < hi; j += kTile)
                        add_moments(matrix.rows(i * block_rows, block_rows), blocks[i],
                                    std::max(j, lead) - lead, std::min(hi, j + kTile) - lead);
            });
            return;
        }
        parallel_work(n, kStrip, n_threads, [&] {
            return
                [&, strip = Strip(), scratch = Scratch()](std::size_t lo, std::size_t hi) mutable {
                    for (std::size_t i = 0; i < blocks.size(); ++i)
                        absorb(matrix.rows(i * block_rows, block_rows), blocks[i],
                               std::max(lo, lead) - lead, hi - lead, strip, scratch);
                };
        });
    }

  private:
    static constexpr std::size_t kTile = 512;  // columns whose moments are computed together
    static constexpr std::size_t kStrip = Strip::kWidth;

    const Config& config_;
    std::span<FeatureState> features_;

    // Number of columns from the begin of a cache line to the first one.
    template <class T>
    static std::size_t before_cache_line(const MatrixView<T>& matrix) {
        if (!std::is_same_v<T, double> || matrix.n_cols < kStrip) return 0;
        return reinterpret_cast<std::uintptr_t>(matrix.data) / sizeof(double) % kStrip;
    }

    // Moments alone are computed row by row, as the rows are in memory.
    template <class T>
    void add_moments(const MatrixView<T>& matrix, const Arrival& arrival, std::size_t lo,
                     std::size_t hi) {
        Summary scratch;
        std::vector<double> copy;
        const RowBlock& block = arrival.rows;
        const MatrixView<double> tile = tile_of(matrix, lo, hi, copy);
        for (std::size_t j = lo; j < hi; ++j) features_[j].scale(arrival.factor, scratch);
        for (std::uint32_t c = 0; c < block.n_classes(); ++c) {
            const std::size_t first = block.begin[c];
            const std::size_t count = block.begin[c + 1] - first;
            if (count == 0) continue;
            const double* shift = tile.row(block.order[block.heaviest[c]]);
            std::array<double, kTile> sum{};
            std::array<double, kTile> squares{};
            kernels().row_power_sums(tile.data, tile.row_stride, block.order.data() + first,
                                     block.weights.empty() ? nullptr : block.weights.data() + first,
                                     count, hi - lo, shift, sum.data(), squares.data());
            if (!are_finite(sum) || !are_finite(squares)) require_finite(tile);
            for (std::size_t j = lo; j < hi; ++j)
                features_[j].of(c).moments.merge(Moments::from_sums(
                    block.class_weights[c], sum[j - lo], squares[j - lo], shift[j - lo]));
        }
    }

    // Columns [lo, hi) as adjacent doubles: in place, or in `copy`.
    template <class T>
    static MatrixView<double> tile_of(const MatrixView<T>& matrix, std::size_t lo, std::size_t hi,
                                      std::vector<double>& copy) {
        if constexpr (std::is_same_v<T, double>)
            if (matrix.col_stride == 1)
                return {matrix.data + lo, matrix.row_stride, 1, matrix.n_rows, hi - lo};
        copy.reserve(matrix.n_rows * (hi - lo));
        for (std::size_t i = 0; i < matrix.n_rows; ++i)
            for (std::size_t j = lo; j < hi; ++j)
                copy.push_back(static_cast<double>(matrix.at(i, j)));
        return {copy.data(), static_cast<std::ptrdiff_t>(hi - lo), 1, matrix.n_rows, hi - lo};
    }

    // Columns [lo, hi) of a block.
    template <class T>
    void absorb(const MatrixView<T>& matrix, const Arrival& arrival, std::size_t lo, std::size_t hi,
                Strip& strip, Scratch& scratch) {
        strip.read(matrix, arrival.rows, lo, hi, config_.cells(), [&](std::size_t j) {
            const std::vector<CountedCells>& counting = features_[j].counting;
            return counting.empty() ? nullptr : &counting[0].map();
        });
        if (!config_.ignore_missing && !strip.has_finite_sums())
            require_finite(matrix.columns(lo, hi - lo));
        for (std::size_t j = lo; j < hi; ++j) {
            features_[j].scale(arrival.factor, scratch.ours);
            if (j + 1 < hi && !arrival.rows.weights.empty() && config_.quantiles)
                scratch.cells.expect(features_[j + 1].counted_weights(), strip.map(j + 1 - lo),
                                     arrival.rows.n_classes());
            else
                scratch.cells.expect_nothing();
            absorb(features_[j], strip, j - lo, arrival, scratch);
        }
    }

    void absorb(FeatureState& feature, const Strip& strip, std::size_t j, const Arrival& arrival,
                Scratch& scratch) const {
        if (!strip.is_whole(j)) {
            absorb_present(feature, strip.column(j), arrival, scratch);
            return;
        }
        const BlockColumn column = strip.column(j);
        for (std::uint32_t c = 0; c < column.n_classes(); ++c)
            if (config_.moments && column.begin[c] != column.begin[c + 1])
                feature.of(c).moments.merge(strip.moments(c, j));
        const double weight = arrival.rows.total_weight();
        if (config_.quantiles)
            feature.absorb({column, strip.map(j), strip.finest(j), weight,
                            feature.weight(arrival.totals, weight, config_)},
                           config_, scratch);
    }

    // A column of which some values may be missing.
    void absorb_present(FeatureState& feature, const BlockColumn& whole, const Arrival& arrival,
                        Scratch& scratch) const {
        const RowBlock& block = arrival.rows;
        scratch.values.resize(whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) scratch.values[i] = whole.value(i);
        const PresentValues present(scratch.values.data(), block, config_.ignore_missing);
        const BlockColumn& column = present.column();
        for (std::uint32_t c = 0; c < column.n_classes(); ++c) {
            if (block.begin[c] == block.begin[c + 1]) continue;
            ClassState& state = feature.of(c);
            state.missing += present.missing(c);
            state.missing_squared += present.missing_squared(c);
            if (config_.moments) state.moments.merge(present.moments(c));
        }
        if (!config_.quantiles || column.size() == 0) return;
        if (feature.counting.empty()) {
            scratch.fit({column.data, column.size()}, config_.cells());
        } else {
            scratch.map = feature.counting[0].map();
            scratch.find({column.data, column.size()});
        }
        double weight = 0.0;
        for (std::size_t i = 0; i < column.size(); ++i) weight += column.weight(i);
        feature.absorb({column, scratch.map, scratch.finest.data(), weight,
                        feature.weight(arrival.totals, weight, config_)},
                       config_, scratch);
    }
};

}  // namespace driftsieve
