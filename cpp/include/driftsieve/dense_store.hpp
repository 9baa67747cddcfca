#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "driftsieve/column.hpp"
#include "driftsieve/exact_strip.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/open_rows.hpp"
#include "driftsieve/parallel.hpp"
#include "driftsieve/row_block.hpp"
#include "driftsieve/strip.hpp"
#include "driftsieve/validate.hpp"

namespace driftsieve {

// Features that are present in every row. Rows are gathered in blocks of a fixed number of rows
// and a block is summed up at once, column by column. Blocks are cut by row count alone, never at
// the edge of a batch, so any split of the same rows into batches gives the same bits; a batch that
// holds whole blocks has them read where they lie.
class DenseStore {
  public:
    using Features = KeptRoom<FeatureState>;

    DenseStore() = default;
    DenseStore(const Config& config, std::size_t n_features)
        : config_(config), features_(n_features) {}

    std::size_t n_features() const { return features_.size(); }
    std::size_t open_rows() const { return open_.size(); }

    // Room for a row that will come with an update: see OpenRows.
    double* place(std::size_t ahead, std::size_t more) {
        return open_.place(ahead, n_features(), more);
    }

    // Throws NotFinite where a value is infinite or missing, unless it may be, and leaves a store
    // of no use.
    template <class T>
    void update(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes,
                const Fading& fading, unsigned n_threads) {
        const std::size_t block_rows = rows_per_block();
        const std::size_t most_rows = std::max(block_rows, kRowsAtOnce / block_rows * block_rows);
        for (std::size_t i = 0, count; i < matrix.n_rows; i += count) {
            const std::size_t left = matrix.n_rows - i;
            const bool whole = open_rows() == 0 && left >= block_rows;
            count = whole ? std::min(left / block_rows * block_rows, most_rows)
                          : std::min(left, block_rows - open_rows());
            const MatrixView<T> part = matrix.rows(i, count);
            if (whole) {
                consume(part, info.part(i, count), n_classes, fading, n_threads);
            } else {
                if (!open_.append(part, info.part(i, count), block_rows, !config_.ignore_missing))
                    throw NotFinite();
                if (open_rows() == block_rows) close_block(n_classes, fading, n_threads);
            }
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
        RowInfo info = other.open_.info();
        std::vector<std::uint32_t> classes;
        for (const std::uint32_t cls : info.classes) classes.push_back(class_map[cls]);
        info.classes = classes;
        update(other.open_.values(n_features()), info, n_classes, fading, n_threads);
    }

    // The same rows with column j moved to target[j] of a wider matrix whose other columns are 0.
    DenseStore widened(std::span<const std::size_t> target, std::size_t n_features) const {
        DenseStore wide(config_, n_features);
        wide.ledger_ = ledger_;
        wide.open_ = open_.widened(target, n_features);
        std::vector<bool> taken(n_features, false);
        for (std::size_t j = 0; j < target.size(); ++j) {
            taken[target[j]] = true;
            wide.features_[target[j]] = features_[j];
        }
        Summary summary;
        for (std::size_t j = 0; j < n_features; ++j) {
            if (taken[j]) continue;
            std::vector<Weighed> zeros;
            for (std::uint32_t c = 0; c < ledger_.totals.size(); ++c) {
                const double weight = ledger_.totals[c].weight;
                if (weight == 0.0) continue;
                ClassState& state = wide.features_[j].of(c);
                if (config_.moments) state.moments = {weight, 0.0, 0.0, 0.0};
                zeros.push_back({0.0, weight, c});
            }
            if (!config_.quantiles) continue;
            exact_summary(std::span(zeros), ledger_.totals.size(), summary);
            wide.features_[j].summary.store(summary);
        }
        return wide;
    }

    // The same rows, features [begin, begin + count) only.
    DenseStore cut(std::size_t begin, std::size_t count) const {
        DenseStore part(config_, 0);
        part.ledger_ = ledger_;
        const auto first = features_.begin() + static_cast<std::ptrdiff_t>(begin);
        part.features_.assign(first, first + static_cast<std::ptrdiff_t>(count));
        part.open_ = open_.cut(begin, count, n_features());
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading) {
        open_.shift_clock(ticks);
        if (ledger_.empty()) return;
        const double factor = ledger_.shift(ticks, latest, fading);
        Summary scratch;
        for (FeatureState& feature : features_) feature.scale(factor, scratch);
    }

    // Open rows included. Everything else that reads also takes this ledger, so that the work of
    // weighing the open rows is done once.
    Ledger ledger(std::size_t n_classes, const Fading& fading) const {
        Ledger result = ledger_;
        result.totals.resize(n_classes);
        if (open_rows() == 0) return result;
        result.advance(latest_epoch(open_.info(), fading));
        open_block(result, fading).add_to(result);
        return result;
    }

    RowBlock open_block(const Ledger& now, const Fading& fading) const {
        return RowBlock::of(open_.info(), now.totals.size(), fading, now.epoch);
    }

    // Features [lo, hi) with the open rows, at the epoch of `now`: visit(j, column) for each, which
    // may be cut into n_bins already (0: that is not asked for).
    template <class Visit>
    void read(std::size_t lo, std::size_t hi, const Ledger& now, const RowBlock& open,
              std::size_t n_bins, const Visit& visit) const {
        const bool exact = ledger_.empty() && ExactStrip::serves(open);
        ExactStrip strip;
        Column column;
        Room<double> values(kStrip * open_rows());
        const double factor =
            ledger_.empty() ? 1.0 : Fading::rebase_factor(now.epoch - ledger_.epoch);
        for (std::size_t j = lo; j < hi; ++j) {
            const std::size_t in_strip = (j - lo) % kStrip;
            if (in_strip == 0 && open_rows() > 0) {
                const std::size_t end = std::min(j + kStrip, hi);
                if (exact)
                    strip.read(open_.values(n_features()), open, j, end, n_bins);
                else
                    gather(open_.values(n_features()), open.order, j, end, values.data());
            }
            if (exact && strip.is_whole(in_strip)) {
                column.moments.resize(now.totals.size());
                column.exact = &strip;
                column.place = in_strip;
                for (std::size_t c = 0; c < column.n_classes(); ++c)
                    column.moments[c] = strip.moments(c, in_strip);
                visit(j, column);
                continue;
            }
            column.reset(now.totals.size());
            double* of_column = values.data() + in_strip * open_rows();
            if (exact) strip.values(in_strip, of_column);
            column.load(features_[j], factor);
            const PresentValues present(of_column, open, config_.ignore_missing);
            if (open_rows() > 0) column.raw = present.column();
            for (std::size_t c = 0; c + 1 < open.begin.size(); ++c) {
                column.missing[c] += present.missing(c);
                if (config_.moments) column.moments[c].merge(present.moments(c));
            }
            visit(j, column);
        }
    }

    std::size_t nbytes() const {
        std::size_t bytes = features_.capacity() * sizeof(FeatureState) + open_.nbytes();
        for (const FeatureState& feature : features_) bytes += feature.nbytes();
        return bytes;
    }

    // Rows a block holds: several times what a summary holds, so that merging stays minor.
    std::size_t rows_per_block() const {
        if (!config_.quantiles) return 256;
        const double rows = std::clamp(8.0 / config_.epsilon, 1600.0, 64000.0);
        return static_cast<std::size_t>(rows);
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(ledger_, features_, open_);
    }

    // What has come from bytes is believed only after this.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(features_.size() == n_features);
        ledger_.check(n_classes, fading);
        require(ledger_.empty() || !fading.fades() || ledger_.epoch <= fading.epoch_of(now));
        for (const FeatureState& feature : features_) feature.check(n_classes);
        require(open_rows() < rows_per_block());
        open_.check(n_features, n_classes, now, fading,
                    [&](double value) { config_.check_value(value); });
    }

    // Used when a sparse store turns dense.
    void adopt(Features features, Ledger ledger) {
        features_ = std::move(features);
        ledger_ = std::move(ledger);
    }

  private:
    static constexpr std::size_t kTile = 512;  // columns whose moments are summed up together
    static constexpr std::size_t kStrip = Strip::kWidth;
    static constexpr std::size_t kRowsAtOnce = 16384;  // in as many blocks as they make

    Config config_;
    Ledger ledger_;  // finished blocks only
    Features features_;
    OpenRows open_;

    static std::int64_t latest_epoch(const RowInfo& info, const Fading& fading) {
        if (info.times.empty()) return 0;
        return fading.epoch_of(*std::max_element(info.times.begin(), info.times.end()));
    }

    template <class Work>
    void for_each_feature(unsigned n_threads, const Work& work) {
        parallel_work(n_features(), kStrip, n_threads, [&] {
            return [&, scratch = Scratch()](std::size_t lo, std::size_t hi) mutable {
                for (std::size_t j = lo; j < hi; ++j) work(j, scratch);
            };
        });
    }

    void close_block(std::size_t n_classes, const Fading& fading, unsigned n_threads) {
        consume(open_.values(n_features()), open_.info(), n_classes, fading, n_threads);
        open_.clear();
    }

    // A block, what its weights were multiplied by when it came, and what all rows weigh with it.
    struct Arrival {
        RowBlock rows;
        double factor;
        std::vector<ClassTotal> totals;
    };

    // Whole blocks. Threads part the columns, not the blocks, so they are started once for many.
    template <class T>
    void consume(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes,
                 const Fading& fading, unsigned n_threads) {
        const std::size_t block_rows = rows_per_block();
        std::vector<Arrival> blocks;
        for (std::size_t i = 0; i < matrix.n_rows; i += block_rows) {
            const RowInfo part = info.part(i, block_rows);
            const double factor = ledger_.advance(latest_epoch(part, fading));
            RowBlock block = RowBlock::of(part, n_classes, fading, ledger_.epoch);
            block.add_to(ledger_);
            blocks.push_back({std::move(block), factor, ledger_.totals});
        }
        // the first tile or strip is cut short so that the others begin where a cache line does
        const std::size_t lead = before_cache_line(matrix);
        if (!config_.quantiles && !config_.ignore_missing) {
            // as much of a row as there is, one tile after another: the machine reads ahead
            const std::size_t n = n_features() + lead;
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
        parallel_work(n_features() + lead, kStrip, n_threads, [&] {
            return
                [&, strip = Strip(), scratch = Scratch()](std::size_t lo, std::size_t hi) mutable {
                    for (std::size_t i = 0; i < blocks.size(); ++i)
                        absorb(matrix.rows(i * block_rows, block_rows), blocks[i],
                               std::max(lo, lead) - lead, hi - lead, strip, scratch);
                };
        });
    }

    // How many columns before the first one a cache line would begin.
    template <class T>
    static std::size_t before_cache_line(const MatrixView<T>& matrix) {
        if (!std::is_same_v<T, double> || matrix.n_cols < kStrip) return 0;
        return reinterpret_cast<std::uintptr_t>(matrix.data) / sizeof(double) % kStrip;
    }

    // Moments alone need no columns: they are summed up row by row, as the rows lie in memory.
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
        if (config_.quantiles)
            feature.absorb(column, strip.map(j), strip.finest(j), arrival.rows.total_weight(),
                           feature.weight(arrival.totals), config_, scratch);
    }

    // A column of which some values may be missing.
    void absorb_present(FeatureState& feature, const BlockColumn& whole, const Arrival& arrival,
                        Scratch& scratch) const {
        const RowBlock& block = arrival.rows;
        scratch.values.resize(whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) scratch.values[i] = whole.value(i);
        const PresentValues present(scratch.values.data(), block, config_.ignore_missing);
        const BlockColumn& column = present.column();
        double missing = 0.0;
        for (std::uint32_t c = 0; c < column.n_classes(); ++c) {
            if (block.begin[c] == block.begin[c + 1]) continue;
            ClassState& state = feature.of(c);
            state.missing += present.missing(c);
            missing += present.missing(c);
            if (config_.moments) state.moments.merge(present.moments(c));
        }
        if (!config_.quantiles || column.size() == 0) return;
        if (feature.counting.empty()) {
            scratch.fit(column, config_.cells());
        } else {
            scratch.map = feature.counting[0].map();
            scratch.values.resize(column.size());
            scratch.find(scratch.map);
        }
        feature.absorb(column, scratch.map, scratch.finest.data(), block.total_weight() - missing,
                       feature.weight(arrival.totals), config_, scratch);
    }
};

}  // namespace driftsieve
