#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/row_block.hpp"
#include "driftsieve/dense/dense_intake.hpp"
#include "driftsieve/dense/dense_reader.hpp"
#include "driftsieve/dense/open_rows.hpp"
#include "driftsieve/memory/coming.hpp"

namespace driftsieve {

// Moves feature j to wide[target[j]], and calls fill(feature) for the others.
template <class Features, class Fill>
void move_features(const Features& features, std::span<const std::size_t> target, Features& wide,
                   const Fill& fill) {
    std::vector<bool> taken(wide.size(), false);
    for (std::size_t j = 0; j < target.size(); ++j) {
        taken[target[j]] = true;
        wide[target[j]] = features[j];
    }
    for (std::size_t j = 0; j < wide.size(); ++j)
        if (!taken[j]) fill(wide[j]);
}

// Features that are present in every row. Rows are collected in blocks of a fixed number of rows,
// and a block is added at once, column by column. Blocks depend on the row count only, never on
// batches, so any split of the same rows into batches gives the same bits. Complete blocks in a
// batch are read in place.
class DenseStore {
  public:
    using Features = KeptRoom<FeatureState>;

    DenseStore() = default;
    DenseStore(const Config& config, std::size_t n_features)
        : config_(config), features_(n_features) {}

    std::size_t n_features() const { return features_.size(); }
    std::size_t open_rows() const { return open_.size(); }

    // Buffer for a row of a later update: see OpenRows.
    double* place(std::size_t ahead, std::size_t more) {
        return open_.place(ahead, n_features(), more);
    }

    // Throws NotFinite if a value is infinite, or missing and not allowed; the store is then
    // unusable.
    template <class T>
    void update(const MatrixView<T>& matrix, const RowInfo& info, const Fading& fading,
                unsigned n_threads) {
        for (std::size_t i = 0, count; i < matrix.n_rows; i += count) {
            const std::size_t block_rows = rows_per_block();
            const std::size_t left = matrix.n_rows - i;
            const bool whole = open_rows() == 0 && left >= block_rows;
            count = whole ? blocks_at_once(info.classes.subspan(i)) * block_rows
                          : std::min(left, block_rows - open_rows());
            const MatrixView<T> part = matrix.rows(i, count);
            if (whole) {
                consume(part, info.part(i, count), fading, n_threads);
            } else {
                if (!open_.append(part, info.part(i, count), block_rows, !config_.ignore_missing,
                                  n_threads))
                    throw NotFinite();
                if (open_rows() == block_rows) close_block(fading, n_threads);
            }
        }
    }

    // Adds `other`, which has other rows of the same features: first its complete blocks, then its
    // open rows as if they had just come.
    void merge(const DenseStore& other, std::span<const std::uint32_t> class_map,
               std::size_t n_classes, const Fading& fading, unsigned n_threads) {
        reading_.forget();
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
        other.open_.with_classes(class_map, [&](const RowInfo& info) {
            update(other.open_.values(n_features()), info, fading, n_threads);
        });
    }

    // The same rows with column j moved to target[j] of a wider matrix; other columns are missing.
    DenseStore widened(std::span<const std::size_t> target, std::size_t n_features) const {
        DenseStore wide(config_, n_features);
        wide.ledger_ = ledger_;
        wide.open_ = open_.widened(target, n_features);
        move_features(features_, target, wide.features_, [&](FeatureState& feature) {
            for (std::uint32_t c = 0; c < ledger_.totals.size(); ++c) {
                feature.of(c).missing = ledger_.totals[c].weight;
                feature.of(c).missing_squared = ledger_.totals[c].weight_squared;
            }
        });
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
        reading_.forget();
        open_.shift_clock(ticks);
        if (ledger_.empty()) return;
        const double factor = ledger_.shift(ticks, latest, fading);
        Summary scratch;
        for (FeatureState& feature : features_) feature.scale(factor, scratch);
    }

    // Includes open rows. All other readers take this ledger too, so that the open rows are
    // weighted only once.
    Ledger ledger(std::size_t n_classes, const Fading& fading) const {
        Ledger result = ledger_.with_classes(n_classes);
        if (open_rows() == 0) return result;
        result.advance(fading.latest_epoch(open_.info().times));
        RowBlock::of(open_.info(), n_classes, fading, result.epoch).add_to(result);
        return result;
    }

    // A reader of features with the open rows, at the epoch of `now`.
    DenseReader reader(const Ledger& now, const Fading& fading) const {
        return DenseReader(config_, features_, ledger_,
                           {open_.values(n_features()), open_.info(), fading}, now, reading_);
    }

    std::size_t nbytes() const {
        std::size_t bytes = features_.capacity() * sizeof(FeatureState) + open_.nbytes();
        for (const FeatureState& feature : features_) bytes += feature.nbytes();
        return bytes;
    }

    std::size_t feature_bytes() const { return nbytes() - open_.nbytes(); }
    // Size of the open rows after so many more rows: complete blocks are read in place.
    std::size_t open_bytes_with(std::size_t n_rows, std::size_t n_columns,
                                std::size_t n_classes) const {
        const std::size_t block_rows = rows_per_block();
        const bool may_grow = open_rows() + n_rows >= block_rows;  // with the classes of the block
        const std::size_t kept =
            may_grow && n_classes > kCountedClasses
                ? std::min(open_rows() + n_rows, rows_per_block(config_, n_classes))
            : open_rows() == 0 ? n_rows % block_rows
                               : std::min(open_rows() + n_rows, block_rows);
        return open_.most_bytes(kept, n_columns);
    }

    // Largest size of a store for any number of rows: a summary has a largest size, for the worst
    // known order of rows (docs/guarantees.md), and so have cells and a block of rows.
    std::size_t most_bytes(const Coming& coming) const {
        return coming.columns * (sizeof(FeatureState) + most_bytes_of_feature(coming)) +
               open_.most_bytes(rows_per_block(config_, coming.classes), coming.columns);
    }

    // Upper bound of nbytes(), at most `before`, after these rows, without reading their values.
    std::size_t most_bytes_with(const Coming& coming, std::size_t before) const {
        std::size_t bytes = before + sizeof(FeatureState) * (coming.columns - n_features()) +
                            open_bytes_with(coming.rows, coming.columns, coming.classes) -
                            open_.nbytes();
        if (open_rows() + coming.rows < rows_per_block()) return bytes;
        Coming now = coming;
        now.is_wide = coming.is_wide || open_.has_weights();
        // existing mini-bins may get wider numbers, or more classes
        if (now.is_wide) bytes += before;
        if (now.classes > kFewClasses || now.classes > ledger_.totals.size()) bytes += before;
        const std::size_t rows = open_rows() + coming.rows;
        const std::size_t summed_up =
            config_.quantiles ? rows * PackedSummary::bytes_of_row(now.classes, now.is_wide) : 0;
        const std::size_t of_feature =
            FeatureState::most_class_bytes(now.classes) + summed_up + cell_bytes(now);
        return bytes + coming.columns * std::min(of_feature, most_bytes_of_feature(now));
    }

    // Number of rows in a block: several times the size of a summary, so that merging takes little
    // time. A summary of many classes is larger; their number is known from complete blocks.
    std::size_t rows_per_block() const { return rows_per_block(config_, ledger_.totals.size()); }
    static std::size_t rows_per_block(const Config& config, std::size_t n_classes) {
        constexpr double kLeast = 1600.0, kMost = 64000.0, kClasses = 12.0;
        if (!config.quantiles) return 256;
        double rows = std::max(8.0 / config.epsilon, kLeast);
        if (n_classes > kCountedClasses)
            rows = std::max(rows, 8.0 / config.epsilon * static_cast<double>(n_classes) / kClasses);
        return static_cast<std::size_t>(std::min(rows, kMost));
    }

    template <class Archive>
    void archive(Archive& ar) {
        if constexpr (requires { ar.expect_end(); }) reading_.forget();
        ar(ledger_, features_, open_);
    }

    // Validates a deserialized state.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(features_.size() == n_features);
        ledger_.check(n_classes, fading, now);
        for (const FeatureState& feature : features_) feature.check(n_classes);
        require(open_rows() < rows_per_block());
        open_.check(n_features, n_classes, now, fading,
                    [&](double value) { config_.check_value(value); });
    }

    // Used when a store of another kind becomes this one.
    void adopt(Features features, Ledger ledger) {
        reading_.forget();
        features_ = std::move(features);
        ledger_ = std::move(ledger);
    }

  private:
    static constexpr std::size_t kRowsAtOnce = 16384;  // in as many blocks as they make

    Config config_;
    Ledger ledger_;  // complete blocks only
    Features features_;
    OpenRows open_;
    mutable KeptReading reading_;  // for the present features_ and open_

    // Complete blocks of the same length, of the rows that begin with these.
    std::size_t blocks_at_once(std::span<const std::uint32_t> classes) const {
        const std::size_t block_rows = rows_per_block();
        const std::size_t most =
            std::clamp<std::size_t>(kRowsAtOnce / block_rows, 1, classes.size() / block_rows);
        std::size_t n_classes = ledger_.totals.size();
        for (std::size_t n = 1; n < most; ++n) {
            const auto block = classes.subspan((n - 1) * block_rows, block_rows);
            n_classes =
                std::max<std::size_t>(n_classes, *std::max_element(block.begin(), block.end()) + 1);
            if (rows_per_block(config_, n_classes) != block_rows) return n;
        }
        return most;
    }

    std::size_t cell_bytes(const Coming& coming) const {
        return config_.quantiles
                   ? CountedCells::most_bytes(config_.cells(), coming.classes, coming.is_wide)
                   : 0;
    }
    // Size in addition to the FeatureState itself.
    std::size_t most_bytes_of_feature(Coming coming) const {
        coming.is_wide = true;
        const double mini_bins =
            config_.quantiles ? (coming.may_shrink ? 70.0 : 20.0) / config_.epsilon + 4.0 : 0.0;
        return FeatureState::most_class_bytes(coming.classes) +
               PackedSummary::most_bytes(static_cast<std::size_t>(mini_bins), coming.classes,
                                         true) +
               cell_bytes(coming);
    }

    template <class Work>
    void for_each_feature(unsigned n_threads, const Work& work) {
        parallel_work(n_features(), Strip::kWidth, n_threads, [&] {
            return [&, scratch = Scratch()](std::size_t lo, std::size_t hi) mutable {
                for (std::size_t j = lo; j < hi; ++j) work(j, scratch);
            };
        });
    }

    void close_block(const Fading& fading, unsigned n_threads) {
        consume(open_.values(n_features()), open_.info(), fading, n_threads);
        open_.clear();
    }

    // Complete blocks. A class counts from the block in which it first occurs, not from the batch.
    template <class T>
    void consume(const MatrixView<T>& matrix, const RowInfo& info, const Fading& fading,
                 unsigned n_threads) {
        reading_.forget();
        const std::size_t block_rows = rows_per_block();
        std::vector<Arrival> blocks;
        for (std::size_t i = 0; i < matrix.n_rows; i += block_rows) {
            const RowInfo part = info.part(i, block_rows);
            const double factor = ledger_.advance(fading.latest_epoch(part.times));
            const std::size_t last = *std::max_element(part.classes.begin(), part.classes.end());
            RowBlock block = RowBlock::of(part, std::max(ledger_.totals.size(), last + 1), fading,
                                          ledger_.epoch);
            block.add_to(ledger_);
            blocks.push_back({std::move(block), factor, ledger_.totals});
        }
        DenseIntake(config_, features_).take(matrix, blocks, n_threads);
    }
};

}  // namespace driftsieve
