#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/column.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/parallel.hpp"
#include "driftsieve/row_block.hpp"

namespace driftsieve {

// Features that are present in every row. Rows are gathered in blocks of a fixed number of rows
// and a block is summed up at once, column by column. Blocks are cut by row count alone, never at
// the edge of a batch, so any split of the same rows into batches gives the same bits; a batch that
// holds whole blocks has them read where they lie.
class DenseStore {
  public:
    DenseStore() = default;
    DenseStore(const Config& config, std::size_t n_features)
        : config_(config), features_(n_features) {}

    std::size_t n_features() const { return features_.size(); }
    std::size_t open_rows() const { return open_classes_.size(); }

    template <class T>
    void update(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes,
                const Fading& fading, unsigned n_threads) {
        const std::size_t block_rows = rows_per_block();
        for (std::size_t i = 0; i < matrix.n_rows;) {
            const std::size_t count = std::min(matrix.n_rows - i, block_rows - open_rows());
            const MatrixView<T> part = matrix.rows(i, count);
            if (count == block_rows) {
                consume(part, info.part(i, count), n_classes, fading, n_threads);
            } else {
                append(part, info.part(i, count));
                if (open_rows() == block_rows) close_block(n_classes, fading, n_threads);
            }
            i += count;
        }
    }

    // `other` saw other rows of the same features: joins its finished blocks to ours, then takes
    // in its open rows as if they had just come.
    void merge(const DenseStore& other, std::span<const std::uint32_t> class_map,
               std::size_t n_classes, const Fading& fading, unsigned n_threads) {
        if (!other.ledger_.empty()) {
            const double ours = ledger_.advance(other.ledger_.epoch);
            const double theirs = Fading::rebase_factor(ledger_.epoch - other.ledger_.epoch);
            ledger_.add(other.ledger_, class_map, n_classes, theirs);
            for_each_feature(n_threads, [&](std::size_t j, Scratch& scratch) {
                features_[j].scale(ours, scratch.ours);
                FeatureState state = other.features_[j];
                state.scale(theirs, scratch.ours);
                features_[j].merge(state, class_map, ledger_.totals, config_, scratch);
            });
        }
        std::vector<std::uint32_t> classes;
        classes.reserve(other.open_rows());
        for (const std::uint32_t cls : other.open_classes_) classes.push_back(class_map[cls]);
        update(other.open_view(), RowInfo{classes, other.open_weights_, other.open_times_},
               n_classes, fading, n_threads);
    }

    // The same rows with column j moved to target[j] of a wider matrix whose other columns are 0.
    DenseStore widened(std::span<const std::size_t> target, std::size_t n_features) const {
        DenseStore wide(config_, n_features);
        wide.ledger_ = ledger_;
        wide.open_classes_ = open_classes_;
        wide.open_weights_ = open_weights_;
        wide.open_times_ = open_times_;
        std::vector<bool> taken(n_features, false);
        wide.open_values_.assign(open_rows() * n_features, 0.0);
        for (std::size_t j = 0; j < target.size(); ++j) {
            taken[target[j]] = true;
            wide.features_[target[j]] = features_[j];
            for (std::size_t i = 0; i < open_rows(); ++i)
                wide.open_values_[i * n_features + target[j]] = open_values_[i * target.size() + j];
        }
        for (std::size_t j = 0; j < n_features; ++j) {
            if (taken[j]) continue;
            for (std::uint32_t c = 0; c < ledger_.totals.size(); ++c) {
                const double weight = ledger_.totals[c].weight;
                if (weight == 0.0) continue;
                ClassState& state = wide.features_[j].of(c);
                if (config_.moments) state.moments = {weight, 0.0, 0.0};
                const Entry zeros{0.0, weight, 0.0};
                if (config_.quantiles) state.entries.store({&zeros, 1});
            }
        }
        return wide;
    }

    // The same rows, features [begin, begin + count) only.
    DenseStore cut(std::size_t begin, std::size_t count) const {
        DenseStore part(config_, 0);
        part.ledger_ = ledger_;
        const auto first = features_.begin() + static_cast<std::ptrdiff_t>(begin);
        part.features_.assign(first, first + static_cast<std::ptrdiff_t>(count));
        part.open_classes_ = open_classes_;
        part.open_weights_ = open_weights_;
        part.open_times_ = open_times_;
        part.open_values_.reserve(open_rows() * count);
        for (std::size_t i = 0; i < open_rows(); ++i) {
            const double* row = open_values_.data() + i * n_features() + begin;
            part.open_values_.insert(part.open_values_.end(), row, row + count);
        }
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading) {
        for (double& t : open_times_) t += ticks;
        if (ledger_.empty()) return;
        const double factor = ledger_.shift(ticks, latest, fading);
        Entries scratch;
        for (FeatureState& feature : features_) feature.scale(factor, scratch);
    }

    // Open rows included. Everything else that reads also takes this ledger, so that the work of
    // weighing the open rows is done once.
    Ledger ledger(std::size_t n_classes, const Fading& fading) const {
        Ledger result = ledger_;
        result.totals.resize(n_classes);
        if (open_rows() == 0) return result;
        result.advance(latest_epoch(open_info(), fading));
        open_block(result, fading).add_to(result);
        return result;
    }

    RowBlock open_block(const Ledger& now, const Fading& fading) const {
        return RowBlock::of(open_info(), now.totals.size(), fading, now.epoch);
    }

    // Features [lo, hi) with the open rows, at the epoch of `now`: visit(j, column) for each.
    template <class Visit>
    void read(std::size_t lo, std::size_t hi, const Ledger& now, const RowBlock& open,
              const Visit& visit) const {
        Column column;
        std::vector<double> strip(kStrip * open_rows());
        const double factor =
            ledger_.empty() ? 1.0 : Fading::rebase_factor(now.epoch - ledger_.epoch);
        for (std::size_t j = lo; j < hi; ++j) {
            const std::size_t in_strip = (j - lo) % kStrip;
            if (in_strip == 0 && open_rows() > 0)
                gather(open_view(), open.order, j, std::min(j + kStrip, hi), strip.data());
            column.reset(now.totals.size());
            column.load(features_[j], factor);
            double* values = strip.data() + in_strip * open_rows();
            std::vector<Segment> segments;  // own what the column points at
            segments.reserve(open.begin.size());
            for (std::size_t c = 0; c + 1 < open.begin.size(); ++c) {
                segments.emplace_back(values, open, c, config_.ignore_missing);
                const Segment& segment = segments.back();
                column.missing[c] += segment.missing();
                if (config_.moments) column.moments[c].merge(segment.moments());
                if (config_.quantiles) column.raw[c] = {segment.values(), segment.weights()};
            }
            visit(j, column);
        }
    }

    std::size_t nbytes() const {
        std::size_t bytes = features_.capacity() * sizeof(FeatureState) +
                            open_values_.capacity() * sizeof(double) +
                            open_classes_.capacity() * sizeof(std::uint32_t) +
                            (open_weights_.capacity() + open_times_.capacity()) * sizeof(double);
        for (const FeatureState& feature : features_) bytes += feature.nbytes();
        return bytes;
    }

    // Rows a block holds: several times what a class summary holds, so that merging stays minor.
    std::size_t rows_per_block() const {
        return config_.quantiles ? 1024 + static_cast<std::size_t>(7.0 / config_.epsilon) : 256;
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(ledger_, features_, open_values_, open_classes_, open_weights_, open_times_);
    }

    // What has come from bytes is believed only after this.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(features_.size() == n_features);
        ledger_.check(n_classes, fading);
        require(ledger_.empty() || !fading.fades() || ledger_.epoch <= fading.epoch_of(now));
        for (const FeatureState& feature : features_) feature.check(n_classes);
        const std::size_t rows = open_rows();
        require(rows < rows_per_block());
        require(n_features == 0 ? open_values_.empty()
                                : open_values_.size() % n_features == 0 &&
                                      open_values_.size() / n_features == rows);
        require(open_weights_.empty() || open_weights_.size() == rows);
        require(open_times_.size() == (fading.fades() ? rows : 0));
        for (const std::uint32_t cls : open_classes_) require(cls < n_classes);
        for (const double t : open_times_) {
            require(t <= now);
            fading.epoch_of(t);
        }
        for (const double w : open_weights_) require_weight(w);
        for (const double v : open_values_) config_.check_value(v);
    }

    // Used when a sparse store turns dense.
    void adopt(std::vector<FeatureState> features, Ledger ledger) {
        features_ = std::move(features);
        ledger_ = std::move(ledger);
    }

  private:
    static constexpr std::size_t kTile = 64;  // columns whose moments are summed up together
    static constexpr std::size_t kStrip =
        8;  // columns gathered together: one cache line of doubles

    Config config_;
    Ledger ledger_;  // finished blocks only
    std::vector<FeatureState> features_;
    // the block being filled: rows x features, and what comes with each row
    std::vector<double> open_values_;
    std::vector<std::uint32_t> open_classes_;
    std::vector<double> open_weights_;  // empty: all 1
    std::vector<double> open_times_;    // empty where nothing fades

    MatrixView<double> open_view() const {
        return {open_values_.data(), static_cast<std::ptrdiff_t>(n_features()), 1, open_rows(),
                n_features()};
    }
    RowInfo open_info() const { return {open_classes_, open_weights_, open_times_}; }

    static std::int64_t latest_epoch(const RowInfo& info, const Fading& fading) {
        if (info.times.empty()) return 0;
        return fading.epoch_of(*std::max_element(info.times.begin(), info.times.end()));
    }

    template <class Work>
    void for_each_feature(unsigned n_threads, const Work& work) {
        parallel_chunks(n_features(), kStrip, n_threads, [&](std::size_t lo, std::size_t hi) {
            Scratch scratch;
            for (std::size_t j = lo; j < hi; ++j) work(j, scratch);
        });
    }

    template <class T>
    void append(const MatrixView<T>& part, const RowInfo& info) {
        if (!info.weights.empty() && open_weights_.empty()) open_weights_.assign(open_rows(), 1.0);
        open_classes_.insert(open_classes_.end(), info.classes.begin(), info.classes.end());
        open_times_.insert(open_times_.end(), info.times.begin(), info.times.end());
        if (!info.weights.empty())
            open_weights_.insert(open_weights_.end(), info.weights.begin(), info.weights.end());
        else if (!open_weights_.empty())
            open_weights_.resize(open_rows(), 1.0);
        const std::size_t size = open_rows() * n_features();
        if (size > open_values_.capacity())  // doubling, but never beyond a block
            open_values_.reserve(
                std::clamp(2 * open_values_.capacity(), size, rows_per_block() * n_features()));
        for (std::size_t i = 0; i < part.n_rows; ++i) {
            if (part.col_stride == 1) {
                open_values_.insert(open_values_.end(), part.row(i), part.row(i) + n_features());
            } else {
                for (std::size_t j = 0; j < n_features(); ++j)
                    open_values_.push_back(static_cast<double>(part.at(i, j)));
            }
        }
    }

    void close_block(std::size_t n_classes, const Fading& fading, unsigned n_threads) {
        consume(open_view(), open_info(), n_classes, fading, n_threads);
        open_values_.clear();
        open_classes_.clear();
        open_weights_.clear();
        open_times_.clear();
    }

    template <class T>
    void consume(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes,
                 const Fading& fading, unsigned n_threads) {
        const double factor = ledger_.advance(latest_epoch(info, fading));
        const RowBlock block = RowBlock::of(info, n_classes, fading, ledger_.epoch);
        block.add_to(ledger_);
        if (!config_.quantiles && !config_.ignore_missing) {
            consume_moments(matrix, block, factor, n_threads);
            return;
        }
        parallel_chunks(n_features(), kStrip, n_threads, [&](std::size_t lo, std::size_t hi) {
            Scratch scratch;
            std::vector<double> strip(kStrip * matrix.n_rows);
            gather(matrix, block.order, lo, hi, strip.data());
            for (std::size_t j = lo; j < hi; ++j) {
                features_[j].scale(factor, scratch.ours);
                absorb(features_[j], strip.data() + (j - lo) * matrix.n_rows, block, scratch);
            }
        });
    }

    // Moments alone need no columns: they are summed up row by row, as the rows lie in memory.
    template <class T>
    void consume_moments(const MatrixView<T>& matrix, const RowBlock& block, double factor,
                         unsigned n_threads) {
        parallel_chunks(n_features(), kTile, n_threads, [&](std::size_t lo, std::size_t hi) {
            Entries scratch;
            std::vector<double> copy;
            const MatrixView<double> tile = tile_of(matrix, lo, hi, copy);
            for (std::size_t j = lo; j < hi; ++j) features_[j].scale(factor, scratch);
            for (std::uint32_t c = 0; c + 1 < block.begin.size(); ++c) {
                const std::size_t first = block.begin[c];
                const std::size_t count = block.begin[c + 1] - first;
                if (count == 0) continue;
                const double* weights =
                    block.weights.empty() ? nullptr : block.weights.data() + first;
                const double weight = weights == nullptr
                                          ? static_cast<double>(count)
                                          : std::accumulate(weights, weights + count, 0.0);
                const double* shift =
                    tile.row(block.order[first + Moments::heaviest(weights, count)]);
                std::array<double, kTile> sum{};
                std::array<double, kTile> squares{};
                kernels().row_power_sums(tile.data, tile.row_stride, block.order.data() + first,
                                         weights, count, hi - lo, shift, sum.data(),
                                         squares.data());
                for (std::size_t j = lo; j < hi; ++j)
                    features_[j].of(c).moments.merge(
                        Moments::from_sums(weight, sum[j - lo], squares[j - lo], shift[j - lo]));
            }
        });
    }

    // Columns [lo, hi) as doubles side by side: where they lie, or in `copy`.
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

    // Columns [lo, hi) one after another, rows in the order of the block.
    template <class T>
    static void gather(const MatrixView<T>& matrix, std::span<const std::uint32_t> order,
                       std::size_t lo, std::size_t hi, double* out) {
        if constexpr (std::is_same_v<T, double>) {
            if (matrix.col_stride == 1 && hi - lo == kStrip) {
                kernels().gather_strip(matrix.data + lo, matrix.row_stride, order.data(),
                                       order.size(), out);
                return;
            }
        }
        for (std::size_t k = 0; k < order.size(); ++k)
            for (std::size_t j = lo; j < hi; ++j)
                out[(j - lo) * order.size() + k] = static_cast<double>(matrix.at(order[k], j));
    }

    void absorb(FeatureState& feature, double* values, const RowBlock& block,
                Scratch& scratch) const {
        for (std::uint32_t c = 0; c + 1 < block.begin.size(); ++c) {
            if (block.begin[c] == block.begin[c + 1]) continue;
            const Segment segment(values, block, c, config_.ignore_missing);
            ClassState& state = feature.of(c);
            state.missing += segment.missing();
            if (config_.moments) state.moments.merge(segment.moments());
            if (!config_.quantiles || segment.size() == 0) continue;
            state.absorb(segment.values(), segment.weights(), segment.weight(),
                         ledger_.totals[c].weight - state.missing, config_, scratch);
        }
    }
};

}  // namespace driftsieve
