#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "driftsieve/dense_store.hpp"
#include "driftsieve/row_shapes.hpp"
#include "driftsieve/snapshot_writer.hpp"
#include "driftsieve/sparse_moments.hpp"
#include "driftsieve/sparse_store.hpp"

namespace driftsieve {

enum class Clock : std::uint8_t { sample, batch, time };

// The state of all features: fed by batches, merged with others, read by freeze. Knows nothing of
// labels, names or scores. Input has been validated.
class Bank {
  public:
    // With a smaller one the rows of a block could not be numbered in 32 bits.
    static constexpr double kSmallestEpsilon = 1e-8;
    // Beyond it, clock readings that differ are no longer different doubles.
    static constexpr std::uint64_t kLastTick = std::uint64_t{1} << 53;

    Bank() = default;
    Bank(const Config& config, Clock clock, double half_life)
        : config_(config), clock_(clock), fading_(half_life) {}

    const Config& config() const { return config_; }
    Clock clock() const { return clock_; }
    double half_life() const { return fading_.half_life(); }
    std::size_t n_features() const { return n_features_; }
    std::size_t n_classes() const { return n_classes_; }
    std::uint64_t ticks() const { return ticks_; }
    double now() const { return now_; }
    bool is_sparse() const {
        return std::holds_alternative<SparseStore>(store_) ||
               std::holds_alternative<SparseMoments>(store_);
    }
    bool is_dense() const { return std::holds_alternative<DenseStore>(store_); }
    // Whether these are rows of a dense bank that has only to keep them: they complete no block.
    bool only_keeps(std::size_t n_rows, std::size_t n_cols) const {
        const auto* dense = std::get_if<DenseStore>(&store_);
        return dense != nullptr && n_cols == n_features_ &&
               dense->open_rows() + n_rows < dense->rows_per_block();
    }

    // Room for a row that will come with a later update: see OpenRows. Of a dense bank of that many
    // features, or one that has had no rows and becomes it.
    double* place(std::size_t ahead, std::size_t n_features, std::size_t more) {
        if (std::holds_alternative<std::monostate>(store_)) {
            store_ = DenseStore(config_, n_features);
            n_features_ = n_features;
        }
        return std::get<DenseStore>(store_).place(ahead, more);
    }

    template <class T>
    void update(const MatrixView<T>& matrix, RowInfo info, std::size_t n_classes,
                unsigned n_threads) {
        std::vector<double> times;
        begin_update(matrix.n_rows, info, n_classes, times);
        if (std::holds_alternative<std::monostate>(store_))
            store_ = DenseStore(config_, matrix.n_cols);
        widen_to(matrix.n_cols);
        if (auto* dense = std::get_if<DenseStore>(&store_)) {
            dense->update(matrix, info, n_classes_, fading_, n_threads);
            return;
        }
        with_sparse([&](auto& sparse) {
            for_each_sparse_row(matrix, [&](std::size_t i, const auto& row) {
                add_row(sparse, info, i, row, n_threads);
            });
        });
    }

    // Rows that it only keeps, and which must be finite. If a value is not, it says false and has
    // changed nothing: whether it is can be seen while the row is copied.
    template <class T>
    bool keep_if_finite(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes) {
        const auto before = std::tuple(ticks_, now_, n_classes_);
        try {
            update(matrix, info, n_classes, 1);
            return true;
        } catch (const NotFinite&) {
            std::tie(ticks_, now_, n_classes_) = before;
            return false;
        }
    }

    // Throws NotCanonical, some rows taken in, if columns are not as they should be and nobody has
    // looked before; not where the bank has quantiles or is dense.
    template <class T, class Index>
    void update(const CsrView<T, Index>& matrix, RowInfo info, std::size_t n_classes,
                unsigned n_threads) {
        std::vector<double> times;
        begin_update(matrix.n_rows, info, n_classes, times);
        if (std::holds_alternative<std::monostate>(store_)) make_sparse(matrix.n_cols);
        widen_to(matrix.n_cols);
        if (auto* dense = std::get_if<DenseStore>(&store_)) {
            for_each_dense_part(matrix, n_features_, [&](std::size_t i, const auto& part) {
                dense->update(part, info.part(i, part.n_rows), n_classes_, fading_, n_threads);
            });
            return;
        }
        with_sparse([&](auto& sparse) {
            const auto end = matrix.is_canonical
                                 ? static_cast<std::size_t>(matrix.indptr[matrix.n_rows])
                                 : matrix.n_stored;
            for (std::size_t i = 0; i < matrix.n_rows; ++i) {
                const auto first = static_cast<std::size_t>(matrix.indptr[i]);
                const auto last = static_cast<std::size_t>(matrix.indptr[i + 1]);
                if (!matrix.is_canonical && (first > last || last > end || (i == 0 && first != 0)))
                    throw NotCanonical();
                const SparseRow<T, Index> row{matrix.data + first, matrix.indices + first,
                                              last - first, end - last, matrix.is_canonical};
                add_row(sparse, info, i, row, n_threads);
            }
        });
    }

    // `other` saw other rows of the stream, its clock reading `start` less. Its class c is our
    // class_map[c], its feature j our target[j]; there are n_classes and n_features with it.
    void merge(Bank other, std::span<const std::uint32_t> class_map,
               std::span<const std::size_t> target, std::size_t n_classes, std::size_t n_features,
               double start, unsigned n_threads) {
        const double their_ticks = static_cast<double>(other.ticks_) + start;
        if (!(their_ticks <= static_cast<double>(kLastTick)))
            throw std::invalid_argument("the rows would end after tick 2^53: use an earlier start");
        if (std::isfinite(other.now_)) fading_.epoch_of(other.now_ + start);  // throws if too far
        n_classes_ = std::max(n_classes_, n_classes);
        if (other.ticks_ > 0) {
            ticks_ = std::max(ticks_, static_cast<std::uint64_t>(std::max(0.0, their_ticks)));
            now_ = std::max(now_, other.now_ + start);
        }
        if (std::holds_alternative<std::monostate>(other.store_)) return;
        if (start != 0.0) other.shift_clock(start, n_threads);
        if (std::holds_alternative<std::monostate>(store_)) {
            if (other.is_sparse())
                make_sparse(n_features);
            else
                store_ = DenseStore(config_, n_features);
            n_features_ = n_features;
        }
        if (is_sparse() && other.is_sparse()) {
            widen_to(n_features);
            with_sparse([&](auto& sparse) {
                using Store = std::decay_t<decltype(sparse)>;
                sparse.merge(std::move(std::get<Store>(other.store_)), target, class_map,
                             n_classes_, n_threads);
            });
            return;
        }
        // a sparse and a dense state meet as dense ones, the zeros written out
        make_dense(n_threads);
        other.make_dense(n_threads);
        widen_to(n_features);
        auto& theirs = std::get<DenseStore>(other.store_);
        bool in_place = target.size() == n_features;
        for (std::size_t j = 0; j < target.size(); ++j) in_place = in_place && target[j] == j;
        std::get<DenseStore>(store_).merge(in_place ? theirs : theirs.widened(target, n_features),
                                           class_map, n_classes_, fading_, n_threads);
    }

    // The same rows, features [begin, begin + count) only.
    Bank cut(std::size_t begin, std::size_t count) const {
        Bank part(config_, clock_, fading_.half_life());
        part.n_features_ = count;
        part.n_classes_ = n_classes_;
        part.ticks_ = ticks_;
        part.now_ = now_;
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            part.store_ = dense->cut(begin, count);
        with_sparse([&](const auto& sparse) { part.store_ = sparse.cut(begin, count); });
        return part;
    }

    // Class totals seen from now.
    std::vector<ClassTotal> totals() const {
        Ledger ledger = current_ledger();
        const double unit = 1.0 / fading_.weight(now_, ledger.epoch);
        for (ClassTotal& total : ledger.totals) {
            total.weight *= unit;
            total.weight_squared *= unit * unit;
        }
        return ledger.totals;
    }

    // Writes features [begin, begin + out.n_features).
    void freeze(std::size_t begin, const SnapshotArrays& out, unsigned n_threads) const {
        const Ledger now = current_ledger();
        const double unit = 1.0 / fading_.weight(now_, now.epoch);
        // a few for each thread, each long enough to be worth the room to work in
        const std::size_t chunk =
            is_sparse() ? 2048
                        : std::clamp<std::size_t>(
                              out.n_features / (4 * std::max(n_threads, 1u)) / 16 * 16, 64, 1024);
        // read(lo, hi, fill, visit), from several threads
        const auto write = [&](const auto& read) {
            parallel_chunks(out.n_features, chunk, n_threads, [&](std::size_t lo, std::size_t hi) {
                SnapshotWriter writer(out, unit);
                read(
                    begin + lo, begin + hi,
                    [&](const Column& column) { writer.fill(column, lo, hi); },
                    [&](std::size_t j, const Column& column) { writer.write(column, j - begin); });
            });
        };
        if (const auto* dense = std::get_if<DenseStore>(&store_)) {
            const RowBlock open = dense->open_block(now, fading_);
            write([&](std::size_t lo, std::size_t hi, const auto&, const auto& visit) {
                dense->read(lo, hi, now, open, out.bins == nullptr ? 0 : out.n_bins, visit);
            });
        }
        with_sparse([&](const auto& sparse) {
            const auto reader = sparse.reader(begin, out.n_features, now);
            write([&](std::size_t lo, std::size_t hi, const auto& fill, const auto& visit) {
                reader(lo, hi, fill, visit);
            });
        });
    }

    // For each of these features of a sparse bank whether any row of it was not 0.
    std::vector<char> seen(std::size_t begin, std::size_t count) const {
        std::vector<char> flags(count);
        with_sparse([&](const auto& sparse) {
            for (std::size_t j = 0; j < count; ++j) flags[j] = sparse.seen(begin + j);
        });
        return flags;
    }

    std::size_t nbytes() const {
        return sizeof(Bank) +
               std::visit(
                   [](const auto& store) -> std::size_t {
                       if constexpr (std::is_same_v<std::decay_t<decltype(store)>, std::monostate>)
                           return 0;
                       else
                           return store.nbytes();
                   },
                   store_);
    }

    template <class Archive>
    void archive(Archive& ar) {
        double half_life = fading_.half_life();
        std::uint8_t moments = config_.moments;
        std::uint8_t quantiles = config_.quantiles;
        std::uint8_t ignore_missing = config_.ignore_missing;
        std::uint8_t kind = static_cast<std::uint8_t>(store_.index());
        std::uint64_t n_features = n_features_;
        std::uint64_t n_classes = n_classes_;
        ar(config_.epsilon, moments, quantiles, ignore_missing, clock_, half_life, n_features,
           n_classes, ticks_, now_, kind);
        require(config_.epsilon >= kSmallestEpsilon && config_.epsilon < 0.5 && half_life > 0.0 &&
                clock_ <= Clock::time && kind <= 3 && (moments != 0 || quantiles != 0));
        require(n_classes <= std::numeric_limits<std::uint32_t>::max() && ticks_ <= kLastTick);
        // While a bank is stored nothing is written: other threads may ask for its settings.
        if constexpr (requires { ar.expect_end(); }) {
            config_.moments = moments != 0;
            config_.quantiles = quantiles != 0;
            config_.ignore_missing = ignore_missing != 0;
            fading_ = Fading(half_life);
            n_features_ = n_features;
            n_classes_ = n_classes;
        }
        if (kind != store_.index()) {
            if (kind == 1) store_ = DenseStore(config_, 0);
            if (kind == 2) store_ = SparseStore(config_, 0);
            if (kind == 3) store_ = SparseMoments(config_, 0);
        }
        require(kind != 3 || quantiles == 0);
        if (auto* dense = std::get_if<DenseStore>(&store_)) dense->archive(ar);
        with_sparse([&](auto& sparse) { sparse.archive(ar); });
    }

    // What has come from bytes is believed only after this.
    void check() {
        require(!std::isnan(now_) && now_ < std::numeric_limits<double>::infinity());
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            dense->check(n_features_, n_classes_, now_, fading_);
        else
            require(is_sparse() || n_features_ == 0);
        with_sparse(
            [&](const auto& sparse) { sparse.check(n_features_, n_classes_, now_, fading_); });
        renew();
    }

  private:
    Config config_;
    Clock clock_ = Clock::sample;
    Fading fading_;
    std::size_t n_features_ = 0;
    std::size_t n_classes_ = 0;
    std::uint64_t ticks_ = 0;
    double now_ = -std::numeric_limits<double>::infinity();
    // what kind of store is stored as a number: its place
    std::variant<std::monostate, DenseStore, SparseStore, SparseMoments> store_;

    void make_sparse(std::size_t n_features) {
        if (config_.quantiles)
            store_ = SparseStore(config_, n_features);
        else
            store_ = SparseMoments(config_, n_features);
    }

    // Sparse banks without quantiles used to be stored as if they had them.
    void renew() {
        const auto* stored = std::get_if<SparseStore>(&store_);
        if (stored == nullptr || config_.quantiles) return;
        const Ledger now = stored->ledger(stored->n_classes());
        std::size_t n_seen = 0;
        for (std::size_t j = 0; j < n_features_; ++j) n_seen += stored->seen(j) ? 1 : 0;
        SparseMoments made = SparseMoments::after(now, config_, n_features_, n_seen);
        stored->reader(0, n_features_, now)(
            0, n_features_, [](const Column&) {},
            [&](std::size_t j, const Column& column) { made.set(j, column); });
        store_ = std::move(made);
    }

    // Calls use(store) if that is a sparse one.
    template <class Use>
    void with_sparse(const Use& use) {
        if (auto* store = std::get_if<SparseStore>(&store_)) use(*store);
        if (auto* moments = std::get_if<SparseMoments>(&store_)) use(*moments);
    }
    template <class Use>
    void with_sparse(const Use& use) const {
        if (const auto* store = std::get_if<SparseStore>(&store_)) use(*store);
        if (const auto* moments = std::get_if<SparseMoments>(&store_)) use(*moments);
    }

    // Reads the clock for the rows that come. Throws before anything has changed.
    void begin_update(std::size_t n_rows, RowInfo& info, std::size_t n_classes,
                      std::vector<double>& times) {
        if (n_rows > kLastTick - ticks_)
            throw std::invalid_argument("the clock has come to its end, tick 2^53");
        double latest = static_cast<double>(ticks_);
        if (clock_ == Clock::time) {
            for (const double t : info.times) fading_.epoch_of(t);
            latest = n_rows == 0 ? now_ : *std::max_element(info.times.begin(), info.times.end());
        } else if (fading_.fades()) {
            times.resize(n_rows);
            for (std::size_t i = 0; i < n_rows; ++i)
                times[i] = static_cast<double>(ticks_ + (clock_ == Clock::sample ? i : 0));
            info.times = times;
        }
        if (!fading_.fades()) info.times = {};
        if (clock_ == Clock::sample) latest += static_cast<double>(n_rows) - 1.0;
        if (n_rows > 0 || clock_ == Clock::batch) {
            fading_.epoch_of(latest);  // throws if out of range
            now_ = std::max(now_, latest);
        }
        ticks_ += clock_ == Clock::batch ? 1 : n_rows;
        n_classes_ = std::max(n_classes_, n_classes);
    }

    void widen_to(std::size_t n_features) {
        with_sparse([&](auto& sparse) {
            if (n_features > sparse.n_features()) sparse.grow(n_features);
        });
        if (auto* dense = std::get_if<DenseStore>(&store_)) {
            if (n_features > dense->n_features()) {
                std::vector<std::size_t> same(dense->n_features());
                for (std::size_t j = 0; j < same.size(); ++j) same[j] = j;
                *dense = dense->widened(same, n_features);
            }
        }
        n_features_ = std::max(n_features_, n_features);
    }

    template <class Store, class Row>
    void add_row(Store& sparse, const RowInfo& info, std::size_t i, const Row& row,
                 unsigned n_threads) {
        sparse.add_row(info.classes[i], info.weights.empty() ? 1.0 : info.weights[i],
                       info.times.empty() ? 0.0 : info.times[i], fading_, row, n_threads);
    }

    Ledger current_ledger() const {
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            return dense->ledger(n_classes_, fading_);
        Ledger ledger;
        ledger.totals.resize(n_classes_);
        with_sparse([&](const auto& sparse) { ledger = sparse.ledger(n_classes_); });
        return ledger;
    }

    void shift_clock(double ticks, unsigned n_threads) {
        const double latest = now_ + ticks;
        if (auto* dense = std::get_if<DenseStore>(&store_))
            dense->shift_clock(ticks, latest, fading_);
        with_sparse([&](auto& sparse) { sparse.shift_clock(ticks, latest, fading_, n_threads); });
    }

    void make_dense(unsigned n_threads) {
        if (!is_sparse()) return;
        const Ledger now = current_ledger();
        DenseStore::Features features(n_features_);
        const auto take = [&](const Column& column, FeatureState& feature) {
            for (std::uint32_t c = 0; c < n_classes_; ++c) {
                if (now.totals[c].rows == 0) continue;
                ClassState& state = feature.of(c);
                state.missing = column.missing[c];
                state.moments = column.moments[c];
            }
            if (config_.quantiles) feature.summary.store(column.summary);
        };
        with_sparse([&](const auto& sparse) {
            const auto reader = sparse.reader(0, n_features_, now);
            parallel_chunks(n_features_, 64, n_threads, [&](std::size_t lo, std::size_t hi) {
                reader(
                    lo, hi,
                    [&](const Column& column) {
                        for (std::size_t j = lo; j < hi; ++j) take(column, features[j]);
                    },
                    [&](std::size_t j, const Column& column) { take(column, features[j]); });
            });
        });
        DenseStore dense(config_, 0);
        dense.adopt(std::move(features), now);
        store_ = std::move(dense);
    }
};

}  // namespace driftsieve
