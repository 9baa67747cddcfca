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

#include "driftsieve/row_shapes.hpp"
#include "driftsieve/snapshot_writer.hpp"
#include "driftsieve/store_change.hpp"
#include "driftsieve/timeline.hpp"

namespace driftsieve {

// The state of all features: fed by batches, merged with others, read by freeze. Knows nothing of
// labels, names or scores. Input has been validated.
class Bank {
  public:
    // With a smaller one the rows of a block could not be numbered in 32 bits.
    static constexpr double kSmallestEpsilon = 1e-8;

    Bank() = default;
    Bank(const Config& config, Clock clock, double half_life)
        : config_(config), timeline_(clock, half_life) {}

    const Config& config() const { return config_; }
    Clock clock() const { return timeline_.clock(); }
    double half_life() const { return fading().half_life(); }
    std::size_t n_features() const { return n_features_; }
    std::size_t n_classes() const { return n_classes_; }
    std::uint64_t ticks() const { return timeline_.ticks(); }
    double now() const { return timeline_.now(); }
    // For a bank of features that are new in a stream by time: others had the rows before.
    void catch_up(double now) { timeline_.catch_up(now); }
    bool is_sparse() const {
        return std::holds_alternative<SparseStore>(store_) ||
               std::holds_alternative<SparseMoments>(store_);
    }
    bool is_dense() const { return std::holds_alternative<DenseStore>(store_); }
    // Rows that wait for their block to be full.
    std::size_t open_rows() const {
        const auto* dense = std::get_if<DenseStore>(&store_);
        return dense == nullptr ? 0 : dense->open_rows();
    }
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

    // Whether the last change came to its end. One that did not, for want of memory, leaves a bank
    // of no use.
    bool is_whole() const { return is_whole_; }

    // Throws BadRows, some rows taken in, if nobody has looked at them before and they are not as
    // they should be; see DenseStore and SparseMoments. Sparse rows must have been looked at where
    // the bank has quantiles or is dense.
    template <class Rows>
    void update(const Rows& rows, RowInfo info, std::size_t n_classes, unsigned n_threads) {
        std::vector<double> times;
        timeline_.read(rows.n_rows, info, times);
        n_classes_ = std::max(n_classes_, n_classes);
        is_whole_ = false;
        take(rows, info, n_threads);
        is_whole_ = true;
    }

    // Rows that it only keeps, and which must be finite. If a value is not, it says false and has
    // changed nothing: whether it is can be seen while the row is copied.
    template <class T>
    bool keep_if_finite(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes) {
        const auto before = std::tuple(timeline_, n_classes_, is_whole_);
        try {
            update(matrix, info, n_classes, 1);
            return true;
        } catch (const NotFinite&) {
            std::tie(timeline_, n_classes_, is_whole_) = before;
            return false;
        }
    }

    // `other` saw other rows of the stream, its clock reading `start` less. Its class c is our
    // class_map[c], its feature j our target[j]; there are n_classes and n_features with it.
    void merge(Bank other, std::span<const std::uint32_t> class_map,
               std::span<const std::size_t> target, std::size_t n_classes, std::size_t n_features,
               double start, unsigned n_threads) {
        timeline_.join(other.timeline_, start);
        n_classes_ = std::max(n_classes_, n_classes);
        is_whole_ = false;
        if (!std::holds_alternative<std::monostate>(other.store_)) {
            if (start != 0.0) other.shift_clock(start, n_threads);
            join(std::move(other), class_map, target, n_features, n_threads);
        }
        is_whole_ = true;
    }

    // The same rows, features [begin, begin + count) only.
    Bank cut(std::size_t begin, std::size_t count) const {
        Bank part(config_, clock(), half_life());
        part.n_features_ = count;
        part.n_classes_ = n_classes_;
        part.timeline_ = timeline_;
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            part.store_ = dense->cut(begin, count);
        with_sparse([&](const auto& sparse) { part.store_ = sparse.cut(begin, count); });
        return part;
    }

    // Class totals seen from now.
    std::vector<ClassTotal> totals() const {
        Ledger ledger = current_ledger();
        const double unit = timeline_.unit(ledger.epoch);
        for (ClassTotal& total : ledger.totals) {
            total.weight *= unit;
            total.weight_squared *= unit * unit;
        }
        return ledger.totals;
    }

    // Writes features [begin, begin + out.n_features).
    void freeze(std::size_t begin, const SnapshotArrays& out, unsigned n_threads) const {
        const Ledger now = current_ledger();
        const double unit = timeline_.unit(now.epoch);
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
            const RowBlock open = dense->open_block(now, fading());
            const DenseReader reader = dense->reader(now, open);
            const std::size_t n_bins = out.bins == nullptr ? 0 : out.n_bins;
            write([&](std::size_t lo, std::size_t hi, const auto&, const auto& visit) {
                reader.read(lo, hi, n_bins, visit);
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
        std::uint8_t moments = config_.moments;
        std::uint8_t quantiles = config_.quantiles;
        std::uint8_t ignore_missing = config_.ignore_missing;
        std::uint8_t kind = static_cast<std::uint8_t>(store_.index());
        std::uint64_t n_features = n_features_;
        std::uint64_t n_classes = n_classes_;
        ar(config_.epsilon, moments, quantiles, ignore_missing);
        timeline_.archive_kind(ar);
        ar(n_features, n_classes);
        timeline_.archive_readings(ar);
        ar(kind);
        require(config_.epsilon >= kSmallestEpsilon && config_.epsilon < 0.5 && kind <= 3 &&
                (moments != 0 || quantiles != 0));
        require(n_classes <= std::numeric_limits<std::uint32_t>::max());
        // While a bank is stored nothing is written: other threads may ask for its settings.
        if constexpr (requires { ar.expect_end(); }) {
            config_.moments = moments != 0;
            config_.quantiles = quantiles != 0;
            config_.ignore_missing = ignore_missing != 0;
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
        timeline_.check();
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            dense->check(n_features_, n_classes_, now(), fading());
        else
            require(is_sparse() || n_features_ == 0);
        with_sparse(
            [&](const auto& sparse) { sparse.check(n_features_, n_classes_, now(), fading()); });
        const auto* stored = std::get_if<SparseStore>(&store_);
        if (stored != nullptr && !config_.quantiles) store_ = without_quantiles(*stored, config_);
    }

  private:
    Config config_;
    Timeline timeline_;
    std::size_t n_features_ = 0;
    std::size_t n_classes_ = 0;
    bool is_whole_ = true;
    // what kind of store is stored as a number: its place
    std::variant<std::monostate, DenseStore, SparseStore, SparseMoments> store_;

    const Fading& fading() const { return timeline_.fading(); }

    void make_sparse(std::size_t n_features) {
        if (config_.quantiles)
            store_ = SparseStore(config_, n_features);
        else
            store_ = SparseMoments(config_, n_features);
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

    template <class T>
    void take(const MatrixView<T>& matrix, const RowInfo& info, unsigned n_threads) {
        if (std::holds_alternative<std::monostate>(store_))
            store_ = DenseStore(config_, matrix.n_cols);
        widen_to(matrix.n_cols);
        if (auto* dense = std::get_if<DenseStore>(&store_))
            dense->update(matrix, info, fading(), n_threads);
        add_rows(matrix, info, n_threads);
    }

    template <class T, class Index>
    void take(const CsrView<T, Index>& matrix, const RowInfo& info, unsigned n_threads) {
        if (std::holds_alternative<std::monostate>(store_)) make_sparse(matrix.n_cols);
        widen_to(matrix.n_cols);
        if (auto* dense = std::get_if<DenseStore>(&store_))
            for_each_dense_part(matrix, n_features_, [&](std::size_t i, const auto& part) {
                dense->update(part, info.part(i, part.n_rows), fading(), n_threads);
            });
        add_rows(matrix, info, n_threads);
    }

    // Takes in what the store of `other` has.
    void join(Bank other, std::span<const std::uint32_t> class_map,
              std::span<const std::size_t> target, std::size_t n_features, unsigned n_threads) {
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
                                           class_map, n_classes_, fading(), n_threads);
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

    // To the store, if that is a sparse one.
    template <class Rows>
    void add_rows(const Rows& rows, const RowInfo& info, unsigned n_threads) {
        with_sparse([&](auto& sparse) {
            for_each_sparse_row(rows, [&](std::size_t i, const auto& row) {
                sparse.add_row(info.classes[i], info.weights.empty() ? 1.0 : info.weights[i],
                               info.times.empty() ? 0.0 : info.times[i], fading(), row, n_threads);
            });
        });
    }

    Ledger current_ledger() const {
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            return dense->ledger(n_classes_, fading());
        Ledger ledger;
        ledger.totals.resize(n_classes_);
        with_sparse([&](const auto& sparse) { ledger = sparse.ledger(n_classes_); });
        return ledger;
    }

    void shift_clock(double ticks, unsigned n_threads) {
        const double latest = now() + ticks;
        if (auto* dense = std::get_if<DenseStore>(&store_))
            dense->shift_clock(ticks, latest, fading());
        with_sparse([&](auto& sparse) { sparse.shift_clock(ticks, latest, fading(), n_threads); });
    }

    void make_dense(unsigned n_threads) {
        if (!is_sparse()) return;
        const Ledger now = current_ledger();
        DenseStore dense;
        with_sparse(
            [&](const auto& sparse) { dense = written_out(sparse, config_, now, n_threads); });
        store_ = std::move(dense);
    }
};

}  // namespace driftsieve
