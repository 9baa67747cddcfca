#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/dense/dense_store.hpp"
#include "driftsieve/feature/column.hpp"
#include "driftsieve/ladder/ladder_cutter.hpp"
#include "driftsieve/ladder/ladder_intake.hpp"
#include "driftsieve/ladder/ladder_ledgers.hpp"

namespace driftsieve {

// Dense rows of up to kFewClasses classes at 2 to kMostRungs half-lives; the counterpart of
// DenseStore. Rows are collected, read and assigned to cells once for all half-lives; only their
// weights differ. It has the methods of DenseStore, but its own fadings.
class LadderStore {
  public:
    LadderStore() = default;
    LadderStore(const Config& config, std::span<const double> half_lives, std::size_t n_features)
        : config_(config), ledgers_(half_lives.size()), features_(n_features) {
        for (const double half_life : half_lives) fadings_.emplace_back(half_life);
    }
    static bool serves(std::size_t rungs, std::size_t n_classes) {
        return rungs >= 2 && rungs <= kMostRungs && n_classes <= kFewClasses;
    }

    std::size_t rungs() const { return fadings_.size(); }
    std::vector<double> half_lives() const {
        std::vector<double> all;
        for (const Fading& fading : fadings_) all.push_back(fading.half_life());
        return all;
    }
    std::size_t n_features() const { return features_.size(); }
    std::size_t open_rows() const { return open_.size(); }
    // Most rows that are kept as they came. When there are so many, the oldest of them make a
    // block; the newest wait, since their weight at a short half-life would need many cells. Blocks
    // have more rows than at one half-life, because the state is larger and is visited once per
    // block.
    std::size_t rows_per_block() const { return rows_per_block(config_); }
    static std::size_t rows_per_block(const Config& config) {
        return std::min<std::size_t>(2 * DenseStore::rows_per_block(config, 0), 64000);
    }
    static std::size_t waiting_rows(const Config& config) {
        return config.quantiles ? rows_per_block(config) / 8 : 0;
    }
    // How many more rows than `rows` complete a block.
    std::size_t rows_to_block_end(std::size_t rows) const {
        const std::size_t waiting = waiting_rows(config_);
        const std::size_t block_rows = rows_per_block() - waiting;
        const std::size_t all = open_rows() + rows;
        if (all < rows_per_block()) return rows_per_block() - all;
        return (block_rows - (all - waiting) % block_rows) % block_rows;
    }

    template <class T>
    void update(const MatrixView<T>& matrix, const RowInfo& info, const Fading&,
                unsigned n_threads) {
        const std::size_t waiting = waiting_rows(config_);
        const std::size_t block_rows = rows_per_block() - waiting;
        const std::size_t most_blocks = std::max<std::size_t>(1, kRowsAtOnce / block_rows);
        for (std::size_t i = 0, count; i < matrix.n_rows; i += count) {
            const std::size_t left = matrix.n_rows - i;
            const auto keep = [&] {
                if (!open_.append(matrix.rows(i, count), info.part(i, count), rows_per_block(),
                                  !config_.ignore_missing, n_threads))
                    throw NotFinite();
            };
            if (open_rows() > block_rows || left < rows_per_block()) {
                count = std::min(left, rows_per_block() - open_rows());
                keep();
                if (open_rows() < rows_per_block()) continue;
                consume(open_.values(n_features()).rows(0, block_rows), open_.info(), n_threads);
                open_.drop(block_rows);
            } else if (open_rows() > 0) {
                // the rows that wait behind this block need not be copied
                count = block_rows - open_rows();
                keep();
                const KeptInfo both(open_.info(), info.part(i + count, waiting));
                consume(open_.values(n_features()), both.info(), n_threads);
                open_.clear();
            } else {
                count = std::min(most_blocks, (left - waiting) / block_rows) * block_rows;
                consume(matrix.rows(i, count), info.part(i, count + waiting), n_threads);
            }
        }
    }

    void merge(const LadderStore& other, std::span<const std::uint32_t> class_map,
               std::size_t n_classes, const Fading& shortest, unsigned n_threads) {
        if (!other.ledgers_[0].empty()) join(other, class_map, n_classes, n_threads);
        other.open_.with_classes(class_map, [&](const RowInfo& info) {
            update(other.open_.values(n_features()), info, shortest, n_threads);
        });
    }

    LadderStore widened(std::span<const std::size_t> target, std::size_t n_features) const {
        LadderStore wide = empty_like(n_features);
        wide.open_ = open_.widened(target, n_features);
        move_features(features_, target, wide.features_, [&](LadderFeature& feature) {
            for (std::size_t c = 0; c < ledgers_[0].totals.size(); ++c)
                for (std::size_t r = 0; r < rungs(); ++r)
                    feature.missing_of(c, rungs())[r] = {ledgers_[r].totals[c].weight,
                                                         ledgers_[r].totals[c].weight_squared};
        });
        return wide;
    }

    LadderStore cut(std::size_t begin, std::size_t count) const {
        LadderStore part = empty_like(0);
        const auto first = features_.begin() + static_cast<std::ptrdiff_t>(begin);
        part.features_.assign(first, first + static_cast<std::ptrdiff_t>(count));
        part.open_ = open_.cut(begin, count, n_features());
        return part;
    }

    void shift_clock(double ticks, double latest, const Fading&) {
        open_.shift_clock(ticks);
        if (ledgers_[0].empty()) return;
        std::vector<double> factors;
        for (std::size_t r = 0; r < rungs(); ++r)
            factors.push_back(ledgers_[r].shift(ticks, latest, fadings_[r]));
        for (LadderFeature& feature : features_) feature.scale(factors);
    }

    // Class totals at one half-life, including open rows.
    Ledger ledger(std::size_t rung, std::size_t n_classes) const {
        Ledger result = ledgers_[rung].with_classes(n_classes);
        if (open_rows() == 0) return result;
        result.advance(fadings_[rung].latest_epoch(open_.info().times));
        open_block(rung, result).add_to(result);
        return result;
    }
    RowBlock open_block(std::size_t rung, const Ledger& now) const {
        return RowBlock::of(open_.info(), now.totals.size(), fadings_[rung], now.epoch);
    }

    // Reads features at some half-lives, including open rows. These are added to copies of some
    // features at a time, once for all half-lives, as a block would be. While a store at one
    // half-life would not have completed a block yet, the rows are read directly.
    class Reader {
      public:
        // `now`: see ledger(), for each of these half-lives. Without quantiles there are 0 bins.
        Reader(const LadderStore& store, std::span<const std::size_t> rungs,
               std::span<const Ledger> now, std::size_t n_bins)
            : store_(store), rungs_(rungs), now_(now), n_bins_(n_bins) {
            if (store.open_rows() == 0) return;
            if (store.ledgers_[0].empty() &&
                store.open_rows() < DenseStore::rows_per_block(store.config_, 0)) {
                for (std::size_t k = 0; k < rungs.size(); ++k)
                    open_.push_back(store.open_block(rungs[k], now[k]));
                return;
            }
            std::vector<Ledger> ledgers = store.ledgers_;
            arrivals_.push_back(store.arrival(store.open_.info(), store.open_rows(), ledgers));
        }

        // visit(k, j, column) for features j in [lo, hi) at half-life rungs[k], a few at a time.
        template <class Visit>
        void read(std::size_t lo, std::size_t hi, const Visit& visit) const {
            constexpr std::size_t kFeatures = Strip::kWidth;
            for (std::size_t j = lo; j < hi; j += kFeatures) {
                const std::size_t n = std::min(hi - j, kFeatures);
                const LadderFeature* features[kFeatures];
                for (std::size_t k = 0; k < n; ++k) features[k] = &store_.features_[j + k];
                read_some({features, n}, open_values().columns(j, n), j, visit);
            }
        }

        // visit(k, i, column) for features[i].
        template <class Visit>
        void read_chosen(std::span<const std::size_t> features, const Visit& visit) const {
            constexpr std::size_t kFeatures = Strip::kWidth;
            const MatrixView<double> open = open_values();
            std::vector<double> values;
            for (std::size_t i = 0; i < features.size(); i += kFeatures) {
                const std::size_t n = std::min(features.size() - i, kFeatures);
                const LadderFeature* some[kFeatures];
                for (std::size_t k = 0; k < n; ++k) some[k] = &store_.features_[features[i + k]];
                values.resize(open.n_rows * n);
                for (std::size_t row = 0; row < open.n_rows; ++row)
                    for (std::size_t k = 0; k < n; ++k)
                        values[row * n + k] = open.at(row, features[i + k]);
                read_some({some, n},
                          {values.data(), static_cast<std::ptrdiff_t>(n), 1, open.n_rows, n}, i,
                          visit);
            }
        }

      private:
        const LadderStore& store_;
        std::span<const std::size_t> rungs_;
        std::span<const Ledger> now_;
        std::size_t n_bins_;
        std::vector<RowBlock> open_;           // of each half-life, if open rows are read directly
        std::vector<LadderArrival> arrivals_;  // one, if open rows are added to copies

        MatrixView<double> open_values() const { return store_.open_.values(store_.n_features()); }

        // Features with their open rows; the visitor gets them numbered from `lo`.
        template <class Visit>
        void read_some(std::span<const LadderFeature*> features, const MatrixView<double>& rows,
                       std::size_t lo, const Visit& visit) const {
            std::vector<LadderFeature> copies;
            if (open_.empty()) {
                copies = store_.whole(features, rows, arrivals_);
                for (std::size_t j = 0; j < copies.size(); ++j) features[j] = &copies[j];
            }
            Column column;
            LadderCutter cutter(store_.rungs(), n_bins_);
            CutBins bins;
            Room<double> values;
            std::vector<std::uint32_t> sorted;
            for (std::size_t j = 0; j < features.size(); ++j) {
                if (!open_.empty())
                    sort(rows.columns(j, 1), sorted);
                else if (n_bins_ > 0)
                    cutter.cut(features[j]->list);
                for (std::size_t k = 0; k < rungs_.size(); ++k) {
                    column.reset(now_[k].totals.size());
                    load(*features[j], k, column);
                    if (!open_.empty()) {
                        add_open(rows.columns(j, 1), sorted, k, values, column);
                    } else if (n_bins_ > 0) {
                        bins = cutter.at(rungs_[k]);
                        column.cut = &bins;
                    }
                    visit(k, lo + j, column);
                }
            }
        }

        // Positions of the open rows by value, without missing values.
        void sort(const MatrixView<double>& rows, std::vector<std::uint32_t>& sorted) const {
            const std::vector<std::uint32_t>& order = open_[0].order;
            sorted.clear();
            for (std::uint32_t i = 0; i < order.size(); ++i)
                if (!std::isnan(rows.at(order[i], 0))) sorted.push_back(i);
            std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
                const double x = rows.at(order[a], 0);
                const double y = rows.at(order[b], 0);
                return x < y || (x == y && a < b);
            });
        }

        // Adds the open rows at one half-life to a column that has no other rows.
        void add_open(const MatrixView<double>& rows, std::span<const std::uint32_t> sorted,
                      std::size_t k, Room<double>& values, Column& column) const {
            const RowBlock& open = open_[k];
            values.resize(open.order.size());
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = rows.at(open.order[i], 0);
            if (store_.config_.quantiles) add_values(values, open, sorted, column.summary);
            const PresentValues present(values.data(), open, store_.config_.ignore_missing);
            for (std::size_t c = 0; c + 1 < open.begin.size(); ++c) {
                column.missing[c] = present.missing(c);
                column.missing_squared[c] = present.missing_squared(c);
                if (store_.config_.moments) column.moments[c] = present.moments(c);
            }
        }
        static void add_values(std::span<const double> values, const RowBlock& open,
                               std::span<const std::uint32_t> sorted, Summary& summary) {
            summary.reset(sorted.size(), summary.n_classes);
            std::fill(summary.weights.begin(), summary.weights.end(), 0.0);
            std::size_t size = 0;
            for (const std::uint32_t place : sorted) {
                if (open.weight(place) == 0.0) continue;
                if (size == 0 || summary.values[size - 1] != values[place]) {
                    summary.values[size] = values[place] + 0.0;  // -0 becomes 0
                    summary.hidden[size++] = 0.0;
                }
                const auto cls = static_cast<std::size_t>(
                    std::upper_bound(open.begin.begin(), open.begin.end(), place) -
                    open.begin.begin() - 1);
                summary.of(size - 1)[cls] += open.weight(place);
            }
            summary.resize(size);
        }

        void load(const LadderFeature& feature, std::size_t k, Column& column) const {
            const std::size_t rungs = store_.rungs();
            const std::size_t rung = rungs_[k];
            for (std::size_t c = 0; c * rungs < feature.moments.size(); ++c)
                column.moments[c] = feature.moments[c * rungs + rung];
            for (std::size_t c = 0; c * rungs < feature.missing.size(); ++c) {
                column.missing[c] = feature.missing[c * rungs + rung].weight;
                column.missing_squared[c] = feature.missing[c * rungs + rung].squared;
            }
        }
    };

    // The same rows at one half-life, as a store of its own.
    DenseStore alone(std::size_t rung) const {
        DenseStore::Features features(n_features());
        DenseStore store(config_, 0);
        if (ledgers_[0].empty()) {  // as they came
            store.adopt(std::move(features), ledgers_[rung]);
            RowInfo info = open_.info();
            if (!fadings_[rung].fades()) info.times = {};
            store.update(open_.values(n_features()), info, fadings_[rung], 1);
            return store;
        }
        std::vector<Ledger> ledgers = ledgers_;
        std::vector<LadderArrival> arrivals;
        if (open_rows() > 0) arrivals.push_back(arrival(open_.info(), open_rows(), ledgers));
        std::vector<const LadderFeature*> all;
        for (const LadderFeature& feature : features_) all.push_back(&feature);
        const std::vector<LadderFeature> copies = whole(all, open_.values(n_features()), arrivals);
        for (std::size_t j = 0; j < n_features(); ++j) features[j] = copies[j].alone(rung, rungs());
        store.adopt(std::move(features), ledgers[rung]);
        return store;
    }

    std::size_t nbytes() const {
        std::size_t bytes = features_.capacity() * sizeof(LadderFeature) + open_.nbytes() +
                            ledgers_.capacity() * sizeof(Ledger);
        for (const LadderFeature& feature : features_) bytes += feature.nbytes();
        return bytes;
    }

    std::size_t feature_bytes() const { return nbytes() - open_.nbytes(); }
    std::size_t open_bytes_with(std::size_t n_rows, std::size_t n_columns, std::size_t) const {
        std::size_t kept = std::min(open_rows() + n_rows, rows_per_block());
        if (open_rows() == 0 && kept == rows_per_block()) {
            const std::size_t waiting = waiting_rows(config_);
            kept = waiting + (n_rows - waiting) % (rows_per_block() - waiting);
            const std::size_t of_row =
                (n_columns + 2) * sizeof(double) + sizeof(std::uint32_t);  // with weight and time
            if (open_.nbytes() == 0) return kept * of_row;                 // they come at once
        }
        return open_.most_bytes(kept, n_columns);
    }

    std::size_t most_bytes(const Coming& coming) const {
        return coming.columns * (sizeof(LadderFeature) + most_bytes_of_feature(coming)) +
               open_.most_bytes(rows_per_block(), coming.columns) +
               ledgers_.size() * sizeof(Ledger);
    }

    // Upper bound of nbytes(), at most `before` now, with these rows, which are not read.
    std::size_t most_bytes_with(const Coming& coming, std::size_t before) const {
        const std::size_t rows = open_rows() + coming.rows;
        const std::size_t bytes = before + sizeof(LadderFeature) * (coming.columns - n_features()) +
                                  open_bytes_with(coming.rows, coming.columns, coming.classes) -
                                  open_.nbytes();
        if (rows < rows_per_block()) return bytes;
        const std::size_t summed_up =
            config_.quantiles ? LadderList::most_bytes(rows, coming.classes, rungs()) : 0;
        const std::size_t of_feature =
            most_class_bytes(coming.classes) + summed_up + most_bytes_of_cells(coming.classes);
        // existing mini-bins may get more classes
        return bytes + (coming.classes > ledgers_[0].totals.size() ? coming.classes * before : 0) +
               coming.columns * std::min(of_feature, most_bytes_of_feature(coming));
    }

    template <class Archive>
    void archive(Archive& ar) {
        std::vector<double> all = half_lives();
        ar(all, ledgers_, features_, open_);
        if constexpr (requires { ar.expect_end(); }) {
            fadings_.clear();
            for (const double half_life : all) fadings_.emplace_back(half_life);
        }
    }

    // Validates a deserialized state.
    void check(std::size_t n_features, std::size_t n_classes, double now) const {
        require(serves(rungs(), n_classes) && ledgers_.size() == rungs());
        require(features_.size() == n_features);
        check_ledgers(ledgers_, fadings_, n_classes, now);
        for (const LadderFeature& feature : features_) feature.check(n_classes, rungs());
        require(open_rows() < rows_per_block());
        open_.check(n_features, n_classes, now, fadings_[0],
                    [&](double value) { config_.check_value(value); });
    }

  private:
    // Classes, weights and times of rows that are not side by side.
    class KeptInfo {
      public:
        KeptInfo(const RowInfo& a, const RowInfo& b) : info_(a) {
            join(a.classes, b.classes, classes_, info_.classes);
            join(a.times, b.times, times_, info_.times);
            if (a.weights.empty() && b.weights.empty()) return;
            const std::vector<double> ones(std::max(a.classes.size(), b.classes.size()), 1.0);
            const auto of = [&](const RowInfo& rows) {
                return rows.weights.empty() ? std::span(ones).first(rows.classes.size())
                                            : rows.weights;
            };
            join(of(a), of(b), weights_, info_.weights);
        }
        KeptInfo(const KeptInfo&) = delete;
        const RowInfo& info() const { return info_; }

      private:
        std::vector<std::uint32_t> classes_;
        std::vector<double> weights_;
        std::vector<double> times_;
        RowInfo info_;

        template <class T>
        static void join(std::span<const T> a, std::span<const T> b, std::vector<T>& both,
                         std::span<const T>& out) {
            both.assign(a.begin(), a.end());
            both.insert(both.end(), b.begin(), b.end());
            out = both;
        }
    };

    static constexpr std::size_t kRowsAtOnce = 16384;  // processed together, in one or more blocks

    Config config_;
    std::vector<Fading> fadings_;
    std::vector<Ledger> ledgers_;  // complete blocks only
    KeptRoom<LadderFeature> features_;
    OpenRows open_;

    LadderStore empty_like(std::size_t n_features) const {
        LadderStore store;
        store.config_ = config_;
        store.fadings_ = fadings_;
        store.ledgers_ = ledgers_;
        store.features_.resize(n_features);
        return store;
    }

    std::size_t most_class_bytes(std::size_t n_classes) const {
        return 2 * n_classes * rungs() * (sizeof(Moments) + sizeof(MissingWeight));
    }
    std::size_t most_bytes_of_cells(std::size_t n_classes) const {
        return config_.quantiles
                   ? LadderCells::most_bytes(LadderAbsorber::cells(config_), n_classes, rungs())
                   : 0;
    }
    // Without the LadderFeature itself. For the worst known order of rows, at the half-life for
    // which it is worst.
    std::size_t most_bytes_of_feature(const Coming& coming) const {
        const double mini_bins =
            config_.quantiles ? (coming.may_shrink ? 70.0 : 40.0) / config_.epsilon + 4.0 : 0.0;
        return most_class_bytes(coming.classes) + most_bytes_of_cells(coming.classes) +
               LadderList::most_bytes(static_cast<std::size_t>(mini_bins), coming.classes, rungs());
    }

    // The first `count` rows as a block for a store with these ledgers, to which they are added.
    // The others wait behind it.
    LadderArrival arrival(const RowInfo& info, std::size_t count,
                          std::vector<Ledger>& ledgers) const {
        LadderArrival arrival;
        for (std::size_t r = 0; r < rungs(); ++r)
            arrival.factors.push_back(ledgers[r].advance(fadings_[r].latest_epoch(info.times)));
        const RowInfo block = info.part(0, count);
        const std::size_t last = *std::max_element(block.classes.begin(), block.classes.end());
        const std::size_t n_classes = std::max(ledgers[0].totals.size(), last + 1);
        arrival.block = LadderBlock::of(block, n_classes, fadings_, ledgers);
        arrival.waiting = weight_of(info.part(count, info.classes.size() - count), ledgers);
        for (std::size_t r = 0; r < rungs(); ++r) {
            arrival.block.add_to(ledgers[r], r);
            arrival.total.push_back(ledgers[r].weight() + arrival.waiting[r]);
        }
        return arrival;
    }
    // Weight of rows that wait, at each half-life. If values may be missing it counts for nothing,
    // because it differs between features.
    std::vector<double> weight_of(const RowInfo& info, std::span<const Ledger> ledgers) const {
        std::vector<double> weight(rungs(), 0.0);
        if (config_.ignore_missing) return weight;
        for (std::size_t i = 0; i < info.classes.size(); ++i)
            for (std::size_t r = 0; r < rungs(); ++r)
                weight[r] += info.weight(i) * fadings_[r].weight(info.time(i), ledgers[r].epoch);
        return weight;
    }

    // Adds complete blocks. `info` has their rows and those that wait behind the last one. A class
    // counts from the block in which it first occurs, not from the batch.
    template <class T>
    void consume(const MatrixView<T>& matrix, const RowInfo& info, unsigned n_threads) {
        const std::size_t waiting = waiting_rows(config_);
        const std::size_t block_rows = rows_per_block() - waiting;
        std::vector<LadderArrival> arrivals;
        for (std::size_t i = 0; i < matrix.n_rows; i += block_rows)
            arrivals.push_back(arrival(info.part(i, block_rows + waiting), block_rows, ledgers_));
        LadderIntake(config_, rungs(), features_).take(matrix, arrivals, n_threads);
    }

    // Copies of features with all that they have counted in their lists, and with open rows.
    std::vector<LadderFeature> whole(std::span<const LadderFeature* const> features,
                                     const MatrixView<double>& rows,
                                     std::span<const LadderArrival> arrivals) const {
        std::vector<LadderFeature> scaled;
        std::vector<const LadderFeature*> origins(features.begin(), features.end());
        if (!arrivals.empty() && std::any_of(arrivals[0].factors.begin(), arrivals[0].factors.end(),
                                             [](double factor) { return factor != 1.0; })) {
            for (const LadderFeature* feature : features)
                scaled.emplace_back(*feature).scale(arrivals[0].factors);
            for (std::size_t j = 0; j < scaled.size(); ++j) origins[j] = &scaled[j];
        }
        std::vector<LadderFeature> whole(features.size());
        for (std::size_t j = 0; j < whole.size(); ++j) {
            whole[j].moments = origins[j]->moments;
            whole[j].missing = origins[j]->missing;
        }
        if (!arrivals.empty()) {
            LadderIntake(config_, rungs(), whole, origins).take(rows, arrivals, 1);
            return whole;
        }
        LadderAbsorber absorber(config_, rungs());
        for (std::size_t j = 0; config_.quantiles && j < whole.size(); ++j)
            absorber.read(origins[j]->list, origins[j]->counting, nullptr,
                          ledgers_[0].totals.size(), whole[j].list);
        return whole;
    }

    // Adds the complete blocks of another store.
    void join(const LadderStore& other, std::span<const std::uint32_t> class_map,
              std::size_t n_classes, unsigned n_threads) {
        std::vector<double> ours;
        std::vector<double> theirs;
        for (std::size_t r = 0; r < rungs(); ++r) {
            ours.push_back(ledgers_[r].advance(
                std::max({other.ledgers_[r].epoch, fadings_[r].latest_epoch(open_.info().times),
                          fadings_[r].latest_epoch(other.open_.info().times)})));
            theirs.push_back(Fading::rebase_factor(ledgers_[r].epoch - other.ledgers_[r].epoch));
            ledgers_[r].add(other.ledgers_[r], class_map, n_classes, theirs[r]);
        }
        // the lists may have used the share of these rows already
        LadderCells later(rungs());
        const std::vector<double> our_open = weight_of(open_.info(), ledgers_);
        const std::vector<double> their_open = weight_of(other.open_.info(), ledgers_);
        for (std::size_t r = 0; r < rungs(); ++r) later.weight[r] = -(our_open[r] + their_open[r]);
        parallel_work(n_features(), Strip::kWidth, n_threads, [&] {
            return [&, absorber = LadderAbsorber(config_, rungs())](std::size_t lo,
                                                                    std::size_t hi) mutable {
                for (std::size_t j = lo; j < hi; ++j) {
                    features_[j].scale(ours);
                    LadderFeature state = other.features_[j];
                    state.scale(theirs);
                    features_[j].merge(std::move(state), class_map, n_classes, absorber);
                    if (config_.quantiles) features_[j].counting.assign(1, later);
                }
            };
        });
    }
};

}  // namespace driftsieve
