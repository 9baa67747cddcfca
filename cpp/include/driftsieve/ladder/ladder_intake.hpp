#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/validate.hpp"
#include "driftsieve/dense/strip.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/ladder/ladder_absorber.hpp"
#include "driftsieve/ladder/ladder_block.hpp"
#include "driftsieve/ladder/ladder_feature.hpp"
#include "driftsieve/ladder/ladder_run.hpp"

namespace driftsieve {

// A block; at each half-life, the factor of stored weights when it came, the weight of the rows
// that wait behind it, and that of all rows with both.
struct LadderArrival {
    LadderBlock block;
    std::vector<double> factors;
    std::vector<double> waiting;
    std::vector<double> total;
};

// Adds blocks of dense rows to the states of features, at all half-lives at once.
class LadderIntake {
  public:
    LadderIntake(const Config& config, std::size_t rungs, std::span<LadderFeature> features)
        : config_(config), rungs_(rungs), features_(features) {}
    // For reading, with the rows of a last block: `features` have the moments and the missing
    // weight of `origins`, and get whole lists.
    LadderIntake(const Config& config, std::size_t rungs, std::span<LadderFeature> features,
                 std::span<const LadderFeature* const> origins)
        : config_(config), rungs_(rungs), features_(features), origins_(origins) {}

    // Blocks of equal length, one after another. Threads divide the columns.
    template <class T>
    void take(const MatrixView<T>& matrix, std::span<const LadderArrival> arrivals,
              unsigned n_threads) {
        const std::size_t block_rows = matrix.n_rows / arrivals.size();
        parallel_work(features_.size(), width(), n_threads, [&] {
            return [&, work = Work(config_, rungs_)](std::size_t lo, std::size_t hi) mutable {
                const std::size_t end = lo + (hi - lo) / kStrip * kStrip;
                for (std::size_t i = 0; i < arrivals.size(); ++i) {
                    const MatrixView<T> rows = matrix.rows(i * block_rows, block_rows);
                    if (lo < end) absorb(rows, arrivals[i], lo, end, work);
                    if (end < hi) absorb(rows, arrivals[i], end, hi, work);
                }
            };
        });
    }

  private:
    static constexpr std::size_t kStrip = LadderKernels::kStrip;
    static_assert(kStrip == Strip::kWidth);
    // Without cells, more columns at a time: the rows are read in longer pieces.
    std::size_t width() const { return config_.quantiles ? kStrip : 8 * kStrip; }

    // Buffers; one for each thread.
    struct Work {
        Work(const Config& config, std::size_t rungs) : absorber(config, rungs) {}

        LadderAbsorber absorber;
        Strip strip;
        MatrixView<double> tile;  // adjacent columns, a multiple of kStrip
        std::vector<double> copy;
        std::vector<double> sum;
        std::vector<double> squares;
        std::vector<std::vector<Moments>> moments;  // by column: class after class
        std::vector<std::uint8_t> is_whole;         // by column: whether nothing is missing
        // of a class, for set_own_shifts()
        std::vector<double> values;
        std::vector<double> weights;
        // for columns with missing values
        LadderRun run;
        Scratch scratch;
    };

    const Config& config_;
    std::size_t rungs_;
    std::span<LadderFeature> features_;
    std::span<const LadderFeature* const> origins_;

    const LadderFeature& origin(std::size_t j) const {
        return origins_.empty() ? features_[j] : *origins_[j];
    }

    // Columns [lo, hi) in place, or copied, with columns of 0 if there are fewer than kStrip.
    template <class T>
    static void read_tile(const MatrixView<T>& matrix, std::size_t lo, std::size_t hi, Work& work) {
        if constexpr (std::is_same_v<T, double>)
            if (matrix.col_stride == 1 && (hi - lo) % kStrip == 0) {
                work.tile = {matrix.data + lo, matrix.row_stride, 1, matrix.n_rows, hi - lo};
                return;
            }
        const std::size_t width = (hi - lo + kStrip - 1) / kStrip * kStrip;
        work.copy.assign(matrix.n_rows * width, 0.0);
        for (std::size_t i = 0; i < matrix.n_rows; ++i)
            for (std::size_t j = lo; j < hi; ++j)
                work.copy[i * width + (j - lo)] = static_cast<double>(matrix.at(i, j));
        work.tile = {work.copy.data(), static_cast<std::ptrdiff_t>(width), 1, matrix.n_rows, width};
    }

    // Columns [lo, hi) of a block.
    template <class T>
    void absorb(const MatrixView<T>& matrix, const LadderArrival& arrival, std::size_t lo,
                std::size_t hi, Work& work) {
        const LadderBlock& block = arrival.block;
        read_tile(matrix, lo, hi, work);
        bool finite = true;
        work.is_whole.assign(hi - lo, 1);
        if (config_.quantiles) {
            work.strip.read(
                work.tile, block.rows, 0, kStrip, LadderAbsorber::cells(config_),
                [&](std::size_t j) { return lo + j < hi ? map_of(lo + j) : nullptr; },
                LadderAbsorber::kCoarse);
            finite = work.strip.has_finite_sums();
            for (std::size_t j = 0; j < hi - lo; ++j) work.is_whole[j] = work.strip.is_whole(j);
        }
        if (config_.moments) finite = sum_up(block, hi - lo, work) && finite;
        if (!finite && !config_.ignore_missing) require_finite(work.tile);
        for (std::size_t j = lo; j < hi; ++j) {
            LadderFeature& feature = features_[j];
            if (origins_.empty()) feature.scale(arrival.factors);
            if (work.is_whole[j - lo] == 0) {
                absorb_present(j, arrival, j - lo, work);
                continue;
            }
            if (config_.moments) add_moments(feature, block, work.moments[j - lo]);
            if (!config_.quantiles) continue;
            const BlockColumn column = work.strip.column(j - lo);
            add_values(j,
                       {column, block.weights.data(), block.total, work.strip.map(j - lo),
                        work.strip.finest(j - lo)},
                       arrival, work);
        }
    }

    void add_values(std::size_t j, const LadderColumn& values, const LadderArrival& arrival,
                    Work& work) const {
        LadderFeature& feature = features_[j];
        if (origins_.empty())
            work.absorber.absorb(feature.list, feature.counting, values,
                                 weight_of(feature, arrival, values.total), arrival.waiting);
        else
            work.absorber.read(origin(j).list, origin(j).counting, &values,
                               values.column.n_classes(), feature.list);
    }

    // The cells that a feature counts into, or null.
    const CellMap* map_of(std::size_t j) const {
        const LadderCells* cells = LadderAbsorber::used(origin(j).counting);
        return cells == nullptr ? nullptr : &cells->map();
    }

    void add_moments(LadderFeature& feature, const LadderBlock& block,
                     std::span<const Moments> moments) const {
        for (std::size_t c = 0; c < block.rows.n_classes(); ++c) {
            if (block.rows.begin[c] == block.rows.begin[c + 1]) continue;
            Moments* ours = feature.moments_of(c, rungs_);
            for (std::size_t r = 0; r < rungs_; ++r) ours[r].merge(moments[c * rungs_ + r]);
        }
    }

    // Moments of all columns of the tile. Returns whether all sums are finite; columns with a sum
    // that is NaN are not whole.
    bool sum_up(const LadderBlock& block, std::size_t n_columns, Work& work) const {
        const std::size_t n_classes = block.rows.n_classes();
        const std::size_t width = work.tile.n_cols;
        work.sum.resize(rungs_ * width);
        work.squares.resize(rungs_ * width);
        work.moments.resize(width);
        for (std::vector<Moments>& moments : work.moments) moments.resize(n_classes * rungs_);
        bool finite = true;
        for (std::size_t c = 0; c < n_classes; ++c) {
            const std::size_t first = block.rows.begin[c];
            const std::size_t count = block.rows.begin[c + 1] - first;
            if (count == 0) continue;
            const double* shift = work.tile.row(block.rows.order[block.rows.heaviest[c]]);
            kernels().ladder->power_sums(
                rungs_,
                {work.tile.data, work.tile.row_stride, block.rows.order.data() + first,
                 block.weights.data() + first * rungs_, count},
                width, shift, work.sum.data(), work.squares.data());
            finite = finite && are_finite(work.sum) && are_finite(work.squares);
            for (std::size_t r = 0; r < rungs_; ++r)
                for (std::size_t j = 0; j < n_columns; ++j) {
                    const double sum = work.sum[r * width + j];
                    if (std::isnan(sum)) work.is_whole[j] = 0;
                    work.moments[j][c * rungs_ + r] =
                        Moments::from_sums(block.class_weights[c * rungs_ + r], sum,
                                           work.squares[r * width + j], shift[j]);
                }
            set_own_shifts(block, c, n_columns, work);
        }
        return finite;
    }

    // Moments at half-lives at which the row that values are measured from weighs very little.
    void set_own_shifts(const LadderBlock& block, std::size_t cls, std::size_t n_columns,
                        Work& work) const {
        const std::size_t first = block.rows.begin[cls];
        const std::size_t count = block.rows.begin[cls + 1] - first;
        for (std::size_t r = 0; r < rungs_; ++r) {
            if (block.needs_own_shift[cls * rungs_ + r] == 0) continue;
            work.weights.resize(count);
            work.values.resize(count);
            for (std::size_t k = 0; k < count; ++k) work.weights[k] = block.weight(first + k, r);
            for (std::size_t j = 0; j < n_columns; ++j) {
                for (std::size_t k = 0; k < count; ++k)
                    work.values[k] = work.tile.at(block.rows.order[first + k], j);
                work.moments[j][cls * rungs_ + r] =
                    Moments::of(work.values.data(), work.weights.data(), count);
            }
        }
    }

    // Weight of the rows that count for a feature; `arriving` rows are not added yet.
    std::vector<double> weight_of(const LadderFeature& feature, const LadderArrival& arrival,
                                  std::span<const double> arriving) const {
        if (feature.missing.empty()) return arrival.total;
        std::vector<double> weight(arriving.begin(), arriving.end());
        feature.add_weights(weight);
        return weight;
    }

    // A column of which some values may be missing.
    void absorb_present(std::size_t number, const LadderArrival& arrival, std::size_t j,
                        Work& work) {
        LadderFeature& feature = features_[number];
        const LadderBlock& block = arrival.block;
        LadderRun& run = work.run;
        const std::size_t n_classes = block.rows.n_classes();
        run.clear(n_classes, rungs_);
        for (std::uint32_t c = 0; c < n_classes; ++c)
            for (std::size_t k = block.rows.begin[c]; k < block.rows.begin[c + 1]; ++k)
                run.add(work.tile.at(block.rows.order[k], j), c, block.weights.data() + k * rungs_,
                        feature);
        run.close();
        if (config_.moments) run.add_moments_to(feature);
        if (!config_.quantiles) return;
        if (run.values.empty()) {
            if (!origins_.empty())
                work.absorber.read(origin(number).list, origin(number).counting, nullptr, n_classes,
                                   feature.list);
            return;
        }
        Scratch& scratch = work.scratch;
        if (const CellMap* known = map_of(number)) {
            scratch.map = *known;
            scratch.find(run.values);
        } else {
            scratch.fit(run.values, LadderAbsorber::cells(config_), LadderAbsorber::kCoarse);
        }
        add_values(
            number,
            {run.column(), run.weights.data(), run.total, scratch.map, scratch.finest.data()},
            arrival, work);
    }
};

}  // namespace driftsieve
