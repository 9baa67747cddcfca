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

#include "driftsieve/bank/snapshot_writer.hpp"
#include "driftsieve/bank/store_change.hpp"
#include "driftsieve/base/timeline.hpp"
#include "driftsieve/ladder/ladder_store.hpp"
#include "driftsieve/ladder/sparse_ladder.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/sparse/row_shapes.hpp"

namespace driftsieve {

// The state of all features: updated by batches, merged with other banks, and read by
// take_snapshot(). It has no labels, names or scores. Input has been validated.
class Bank {
  public:
    // With a smaller epsilon, the rows of a block would need numbers of more than 32 bits.
    static constexpr double kSmallestEpsilon = 1e-8;

    Bank() = default;
    Bank(const Config& config, Clock clock, double half_life)
        : config_(config), timeline_(clock, half_life) {}
    // At several half-lives, the shortest first: see LadderStore and SparseLadder. The clock is
    // that of the shortest one.
    Bank(const Config& config, Clock clock, std::span<const double> half_lives)
        : config_(config),
          timeline_(clock, half_lives[0]),
          half_lives_(half_lives.begin(), half_lives.end()) {}

    const Config& config() const { return config_; }
    Clock clock() const { return timeline_.clock(); }
    double half_life() const { return fading().half_life(); }
    // At all half-lives, or at one.
    std::size_t rungs() const { return std::max<std::size_t>(1, half_lives_.size()); }
    std::span<const double> half_lives() const { return half_lives_; }
    // The same rows at one of several half-lives, as a bank of its own.
    Bank alone(std::size_t rung) const {
        Bank bank(config_, clock(), half_lives_.at(rung));
        bank.timeline_ = timeline_.with_half_life(half_lives_[rung]);
        bank.n_features_ = n_features_;
        bank.n_classes_ = n_classes_;
        bank.bound_ = {};
        if (const auto* ladder = std::get_if<LadderStore>(&store_))
            bank.store_ = ladder->alone(rung);
        if (const auto* ladder = std::get_if<SparseLadder>(&store_))
            bank.store_ = ladder->alone(rung);
        return bank;
    }
    // An empty bank with the same settings at several half-lives, the shortest of which is its own.
    Bank with_half_lives(std::span<const double> half_lives) const {
        Bank bank = *this;
        bank.half_lives_.assign(half_lives.begin(), half_lives.end());
        return bank;
    }
    // Throws if the clock cannot read these rows.
    void check_clock(std::size_t n_rows, RowInfo info) const {
        std::vector<double> times;
        Timeline(timeline_).read(n_rows, info, times);
    }
    std::size_t n_features() const { return n_features_; }
    std::size_t n_classes() const { return n_classes_; }
    std::uint64_t ticks() const { return timeline_.ticks(); }
    double now() const { return timeline_.now(); }
    // Only before the first row, and only if missing values are ignored: see Config.
    void take_absent_as_missing() {
        if (!config_.ignore_missing || !std::holds_alternative<std::monostate>(store_))
            throw std::logic_error("absent entries can only be missing from the first row on");
        config_.absent_is_missing = true;
    }
    bool is_sparse() const {
        return std::holds_alternative<SparseStore>(store_) ||
               std::holds_alternative<SparseMoments>(store_) ||
               std::holds_alternative<SparseLadder>(store_);
    }
    bool is_dense() const { return std::holds_alternative<DenseStore>(store_) || is_ladder(); }
    bool is_ladder() const { return std::holds_alternative<LadderStore>(store_); }
    // Whether snapshots have design effects: for sparse features whose rows fade or differ in
    // weight.
    bool has_design_effects(std::size_t rung = 0) const {
        bool keeps_squares = false;
        with_columns([&](const auto& sparse) { keeps_squares = sparse.keeps_squares(); });
        if (const auto* ladder = std::get_if<SparseLadder>(&store_))
            keeps_squares = ladder->keeps_squares(rung);
        return keeps_squares && !config_.absent_is_missing;
    }
    // Number of rows in the incomplete block.
    std::size_t open_rows() const {
        std::size_t rows = 0;
        with_blocks([&](const auto& dense) { rows = dense.open_rows(); });
        return rows;
    }
    // Number of rows in a block of a dense bank.
    std::size_t block_rows() const {
        if (rungs() > 1) return LadderStore::rows_per_block(config_);
        const auto* dense = std::get_if<DenseStore>(&store_);
        return dense == nullptr ? DenseStore::rows_per_block(config_, 0) : dense->rows_per_block();
    }
    // How many more rows than `rows` complete a block of a dense bank.
    std::size_t rows_to_block_end(std::size_t rows) const {
        if (const auto* ladder = std::get_if<LadderStore>(&store_))
            return ladder->rows_to_block_end(rows);
        if (rungs() > 1) return LadderStore(config_, half_lives_, 0).rows_to_block_end(rows);
        return block_rows() - 1 - (open_rows() + rows + block_rows() - 1) % block_rows();
    }
    bool is_empty() const { return std::holds_alternative<std::monostate>(store_); }
    // Whether a dense bank only has to keep these rows, because they complete no block.
    bool only_keeps(std::size_t n_rows, std::size_t n_cols) const {
        bool keeps = false;
        with_blocks([&](const auto& dense) {
            keeps = n_cols == n_features_ && dense.open_rows() + n_rows < dense.rows_per_block();
        });
        return keeps;
    }

    // Buffer for a row of a later update: see OpenRows. The bank must be dense with that many
    // features, or have no rows yet; it then becomes dense.
    double* place(std::size_t ahead, std::size_t n_features, std::size_t more) {
        if (std::holds_alternative<std::monostate>(store_)) {
            store_ = DenseStore(config_, n_features);
            n_features_ = n_features;
            bound_ = {};
        }
        return std::get<DenseStore>(store_).place(ahead, more);
    }

    // Whether the last change was completed. A bank is unusable if memory ran out during a change.
    bool is_whole() const { return is_whole_; }

    // Throws BadRows if rows that are not validated turn out to be invalid; some rows may have been
    // added. See DenseStore and SparseMoments. Sparse rows must be validated if the bank has
    // quantiles or is dense.
    template <class Rows>
    void update(const Rows& rows, RowInfo info, std::size_t n_classes, unsigned n_threads) {
        const Bound bound = bound_with(rows, info, n_classes);
        std::vector<double> times;
        timeline_.read(rows.n_rows, info, times);
        bound_ = bound;
        n_classes_ = std::max(n_classes_, n_classes);
        is_whole_ = false;
        take(rows, info, n_threads);
        is_whole_ = true;
    }

    // Rows that are only kept, and must be finite. Returns false, without a change, if a value is
    // not; this is checked while the row is copied.
    template <class T>
    bool keep_if_finite(const MatrixView<T>& matrix, const RowInfo& info, std::size_t n_classes,
                        unsigned n_threads) {
        const auto before = std::tuple(timeline_, n_classes_, is_whole_);
        try {
            update(matrix, info, n_classes, n_threads);
            return true;
        } catch (const NotFinite&) {
            std::tie(timeline_, n_classes_, is_whole_) = before;
            return false;
        }
    }

    // Adds the rows of `other`, whose clock readings are `start` less. Its class c is class_map[c]
    // here, and its feature j is target[j] here; there are then n_classes and n_features. A column
    // that a sparse bank does not have was 0 there; one that a dense bank does not have is missing
    // there. The columns of a bank without rows do not count.
    void merge(Bank other, std::span<const std::uint32_t> class_map,
               std::span<const std::size_t> target, std::size_t n_classes, std::size_t n_features,
               double start, unsigned n_threads) {
        if (config_.absent_is_missing != other.config_.absent_is_missing)
            throw std::invalid_argument(
                "Absent entries must be 0 in both banks or missing in both, got one of each.");
        const bool brings = !std::holds_alternative<std::monostate>(other.store_) &&
                            (other.has_rows() || n_features_ == 0);
        const bool begins = brings && !has_rows();
        if (brings && !config_.ignore_missing &&
            ((!begins && lacks_columns(n_features)) || other.lacks_columns(n_features)))
            throw std::invalid_argument(
                "Both banks must have the same columns if missing values are errors.");
        timeline_.join(other.timeline_, start);
        bound_ = {};
        n_classes_ = std::max(n_classes_, n_classes);
        is_whole_ = false;
        if (begins) {
            store_ = std::monostate();
            n_features_ = 0;
        }
        if (brings) {
            if (start != 0.0) other.shift_clock(start);
            join(std::move(other), class_map, target, n_features, n_threads);
        }
        is_whole_ = true;
    }

    // The same rows, features [begin, begin + count) only.
    Bank cut(std::size_t begin, std::size_t count) const {
        Bank part(config_, clock(), half_life());
        part.half_lives_ = half_lives_;
        part.n_features_ = count;
        part.n_classes_ = n_classes_;
        part.timeline_ = timeline_;
        part.bound_ = {};
        with_blocks([&](const auto& dense) { part.store_ = dense.cut(begin, count); });
        with_sparse([&](const auto& sparse) { part.store_ = sparse.cut(begin, count); });
        return part;
    }

    // Class totals at the present time.
    std::vector<ClassTotal> totals(std::size_t rung = 0) const {
        Ledger ledger = current_ledger(rung);
        const double unit = unit_of(rung, ledger.epoch);
        for (ClassTotal& total : ledger.totals) {
            total.weight *= unit;
            total.weight_squared *= unit * unit;
        }
        return ledger.totals;
    }

    // Writes features [begin, begin + out.n_features).
    void take_snapshot(std::size_t begin, const SnapshotArrays& out, unsigned n_threads) const {
        const Ledger now = current_ledger();
        const double unit = timeline_.unit(now.epoch);
        // a few for each thread, each long enough to be worth its buffers
        const std::size_t chunk =
            is_sparse() ? 2048
                        : std::clamp<std::size_t>(
                              out.n_features / (4 * std::max(n_threads, 1u)) / 16 * 16, 64, 1024);
        // read(lo, hi, fill, visit), from several threads
        const auto write = [&](const auto& read) {
            parallel_chunks(out.n_features, chunk, n_threads, [&](std::size_t lo, std::size_t hi) {
                SnapshotWriter writer(out, now.totals, unit);
                read(
                    begin + lo, begin + hi,
                    [&](const Column& column) { writer.fill(column, lo, hi); },
                    [&](std::size_t j, const Column& column) { writer.write(column, j - begin); });
            });
        };
        if (const auto* dense = std::get_if<DenseStore>(&store_)) {
            const DenseReader reader = dense->reader(now, fading());
            const std::size_t n_bins = out.bins_to_cut();
            write([&](std::size_t lo, std::size_t hi, const auto&, const auto& visit) {
                reader.read(lo, hi, n_bins, visit);
            });
        }
        with_columns([&](const auto& sparse) {
            const auto reader = sparse.reader(now, out.bins == nullptr ? 1 : out.n_bins);
            write([&](std::size_t lo, std::size_t hi, const auto& fill, const auto& visit) {
                reader(lo, hi, fill, visit);
            });
        });
    }

    // The same at some of several half-lives.
    void take_snapshot(std::span<const std::size_t> rungs, std::size_t begin,
                       std::span<const SnapshotArrays> out, unsigned n_threads) const {
        const std::vector<Ledger> now = current_ledgers(rungs);
        if (const auto* sparse = std::get_if<SparseLadder>(&store_)) {
            const std::size_t n_bins = out[0].bins == nullptr ? 1 : out[0].n_bins;
            parallel_chunks(out[0].n_features, 2048, n_threads, [&](auto lo, auto hi) {
                std::vector<SnapshotWriter> writers = writers_of(rungs, now, out);
                SparseLadder::Reader(*sparse, rungs, now, n_bins)
                    .read(
                        begin + lo, begin + hi,
                        [&](std::size_t k, std::size_t first, std::size_t end,
                            const Column& column) {
                            writers[k].fill(column, first - begin, end - begin);
                        },
                        [&](std::size_t k, std::size_t j, const Column& column) {
                            writers[k].write(column, j - begin);
                        });
            });
        }
        const auto* ladder = std::get_if<LadderStore>(&store_);
        if (ladder == nullptr) return;  // sparse, or without rows
        const LadderStore::Reader reader(*ladder, rungs, now, out[0].bins_to_cut());
        parallel_chunks(out[0].n_features, 64, n_threads, [&](std::size_t lo, std::size_t hi) {
            std::vector<SnapshotWriter> writers = writers_of(rungs, now, out);
            reader.read(begin + lo, begin + hi,
                        [&](std::size_t k, std::size_t j, const Column& column) {
                            writers[k].write(column, j - begin);
                        });
        });
    }
    void take_snapshot_of(std::span<const std::size_t> rungs, std::span<const std::size_t> features,
                          std::span<const SnapshotArrays> out) const {
        const std::vector<Ledger> now = current_ledgers(rungs);
        std::vector<SnapshotWriter> writers = writers_of(rungs, now, out);
        const auto write = [&](std::size_t k, std::size_t i, const Column& column) {
            writers[k].write(column, i);
        };
        if (const auto* sparse = std::get_if<SparseLadder>(&store_))
            SparseLadder::Reader(*sparse, rungs, now, out[0].bins == nullptr ? 1 : out[0].n_bins)
                .read_chosen(features, write);
        if (const auto* ladder = std::get_if<LadderStore>(&store_))
            LadderStore::Reader(*ladder, rungs, now, out[0].bins_to_cut())
                .read_chosen(features, write);
    }

    // Writes these features, as many as `out` has.
    void take_snapshot_of(std::span<const std::size_t> features, const SnapshotArrays& out) const {
        const Ledger now = current_ledger();
        SnapshotWriter writer(out, now.totals, timeline_.unit(now.epoch));
        std::size_t i = 0;  // of the feature that is read
        const auto take = [&](const Column& column) { writer.write(column, i); };
        const auto visit = [&](std::size_t, const Column& column) { take(column); };
        if (const auto* dense = std::get_if<DenseStore>(&store_)) {
            const DenseReader reader = dense->reader(now, fading());
            const std::size_t n_bins = out.bins_to_cut();
            for (i = 0; i < features.size(); ++i)
                reader.read(features[i], features[i] + 1, n_bins, visit);
        }
        with_columns([&](const auto& sparse) {
            const auto reader = sparse.reader(now, out.bins == nullptr ? 1 : out.n_bins);
            for (i = 0; i < features.size(); ++i) reader(features[i], features[i] + 1, take, visit);
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

    // Largest size of a dense bank with so many classes, for any number of rows of weight 1.
    std::size_t most_bytes(std::size_t n_classes) const {
        std::size_t bytes = Bound().bytes;
        Coming any;
        any.columns = n_features_;
        any.classes = std::max(n_classes_, n_classes);
        with_blocks([&](const auto& dense) { bytes = sizeof(Bank) + dense.most_bytes(any); });
        return bytes;
    }

    // Upper bound of nbytes() after rows of which nothing else is known.
    std::size_t most_bytes_with(const Coming& coming, bool are_sparse) const {
        return bound_with(coming, are_sparse).bytes;
    }

    // Makes the bound tight again, for rows of such classes and weights.
    void measure(const Coming& coming) {
        bound_ = {nbytes(), coming.classes, coming.is_wide};
        with_sparse([&](const auto& sparse) {
            bound_.bytes =
                sizeof(Bank) + sparse.bounds().settled_bytes(coming.classes, coming.is_wide);
        });
    }

    template <class Archive>
    void archive(Archive& ar) {
        std::uint8_t moments = config_.moments;
        std::uint8_t quantiles = config_.quantiles;
        std::uint8_t ignore_missing = config_.absent_is_missing ? 2 : config_.ignore_missing;
        std::uint8_t kind = static_cast<std::uint8_t>(store_.index());
        std::uint64_t n_features = n_features_;
        std::uint64_t n_classes = n_classes_;
        ar(config_.epsilon, moments, quantiles, ignore_missing);
        timeline_.archive_kind(ar);
        ar(n_features, n_classes);
        timeline_.archive_readings(ar);
        ar(kind);
        require(config_.epsilon >= kSmallestEpsilon && config_.epsilon < 0.5 && kind <= 5 &&
                (moments != 0 || quantiles != 0));
        require(n_classes <= std::numeric_limits<std::uint32_t>::max());
        // Storing writes nothing to the bank, because other threads may read its settings.
        if constexpr (requires { ar.expect_end(); }) {
            config_.moments = moments != 0;
            config_.quantiles = quantiles != 0;
            config_.ignore_missing = ignore_missing != 0;
            config_.absent_is_missing = ignore_missing == 2;
            n_features_ = n_features;
            n_classes_ = n_classes;
            bound_ = {};
        }
        if (kind != store_.index()) {
            if (kind == 1) store_ = DenseStore(config_, 0);
            if (kind == 2) store_ = SparseStore(config_, 0);
            if (kind == 3) store_ = SparseMoments(config_, 0);
            if (kind == 4) store_ = LadderStore(config_, {}, 0);
            if (kind == 5) store_ = SparseLadder(config_, {}, 0);
        }
        require(kind < 2 || kind == 4 || (kind != 3) == (quantiles != 0));
        with_blocks([&](auto& dense) { dense.archive(ar); });
        with_sparse([&](auto& sparse) { sparse.archive(ar); });
        if constexpr (requires { ar.expect_end(); }) {
            if (const auto* ladder = std::get_if<LadderStore>(&store_))
                half_lives_ = ladder->half_lives();
            if (const auto* ladder = std::get_if<SparseLadder>(&store_))
                half_lives_ = ladder->half_lives();
        }
    }

    // Validates a deserialized state.
    void check() const {
        timeline_.check();
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            dense->check(n_features_, n_classes_, now(), fading());
        else
            require(is_sparse() || is_ladder() || n_features_ == 0);
        if (const auto* ladder = std::get_if<LadderStore>(&store_))
            ladder->check(n_features_, n_classes_, now());
        require(half_lives_.empty() || half_lives_[0] == half_life());
        with_sparse(
            [&](const auto& sparse) { sparse.check(n_features_, n_classes_, now(), fading()); });
    }

    // Whether both banks can have the same rows: only their half-lives may differ.
    bool is_like(const Bank& other) const {
        const auto rows_of = [](const Bank& bank) {
            std::vector<std::uint64_t> rows;
            for (const ClassTotal& total : bank.current_ledger().totals) rows.push_back(total.rows);
            return rows;
        };
        return config_ == other.config_ && clock() == other.clock() && ticks() == other.ticks() &&
               now() == other.now() && n_features_ == other.n_features_ &&
               n_classes_ == other.n_classes_ && store_.index() == other.store_.index() &&
               open_rows() == other.open_rows() && rows_of(*this) == rows_of(other);
    }

  private:
    friend class Forecast;

    // An upper bound of nbytes() that needs no walk over the state: the measured size, plus what
    // later rows may have added. It holds while there are no more classes, and no weights of
    // another kind, than when it was measured.
    struct Bound {
        std::size_t bytes = std::numeric_limits<std::size_t>::max();  // unknown
        std::size_t classes = 0;
        bool is_wide = false;
    };
    static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

    Config config_;
    Timeline timeline_;
    std::size_t n_features_ = 0;
    std::size_t n_classes_ = 0;
    bool is_whole_ = true;
    Bound bound_{sizeof(Bank), std::numeric_limits<std::size_t>::max(), true};
    std::vector<double> half_lives_;  // empty: one
    // the kind of store is stored as its index in the variant
    std::variant<std::monostate, DenseStore, SparseStore, SparseMoments, LadderStore, SparseLadder>
        store_;

    const Fading& fading() const { return timeline_.fading(); }

    bool has_rows() const { return current_ledger().rows() > 0; }
    bool lacks_columns(std::size_t n_features) const {
        return is_dense() && n_features_ < n_features;
    }

    template <class Rows>
    Coming coming(const Rows& rows, const RowInfo& info, std::size_t n_classes) const {
        constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 30;  // rows of weight 1
        constexpr bool is_csr = requires { rows.n_stored; };
        Coming coming;
        coming.rows = rows.n_rows;
        coming.columns = std::max(n_features_, rows.n_cols);
        coming.classes = std::max(n_classes_, n_classes);
        if constexpr (is_csr)
            coming.values = rows.n_stored;
        else
            coming.values = rows.n_rows * rows.n_cols;
        coming.is_wide = fading().fades() || !info.weights.empty() ||
                         timeline_.ticks() + rows.n_rows >= kMostWhole;
        coming.may_shrink = !info.weights.empty() || clock() == Clock::time;
        return coming;
    }

    template <class Rows>
    Bound bound_with(const Rows& rows, const RowInfo& info, std::size_t n_classes) const {
        return bound_with(coming(rows, info, n_classes), requires { rows.n_stored; });
    }
    Bound bound_with(const Coming& coming, bool are_sparse) const {
        Bound bound = bound_;
        if (is_empty()) bound = {sizeof(Bank), coming.classes, coming.is_wide};
        const bool holds = coming.classes <= bound.classes && coming.is_wide <= bound.is_wide;
        const auto grow = [&](const auto& sparse) {
            bound.bytes = sparse.bounds().most_bytes_with(coming, bound.bytes);
        };
        if (is_dense() || (is_empty() && !are_sparse)) {
            const auto grow_blocks = [&](const auto& dense) {
                if (bound.bytes != Bound().bytes)
                    bound.bytes = dense.most_bytes_with(coming, bound.bytes);
                bound.bytes = std::min(bound.bytes, sizeof(Bank) + dense.most_bytes(coming));
            };
            with_blocks(grow_blocks);
            if (is_empty())
                rungs() > 1 ? grow_blocks(LadderStore(config_, half_lives_, 0))
                            : grow_blocks(DenseStore(config_, 0));
        } else if (!holds || bound.bytes == Bound().bytes) {
            bound = {};
        } else if (is_empty()) {
            with_new_columns(0, grow);
        } else {
            with_sparse(grow);
        }
        return bound;
    }

    void make_blocks(std::size_t n_features) {
        if (rungs() > 1)
            store_ = LadderStore(config_, half_lives_, n_features);
        else
            store_ = DenseStore(config_, n_features);
    }
    void make_sparse(std::size_t n_features) {
        with_new_columns(n_features, [&](auto sparse) { store_ = std::move(sparse); });
    }
    // Calls use(store) with the one that sparse rows get.
    template <class Use>
    void with_new_columns(std::size_t n_features, const Use& use) const {
        if (rungs() > 1)
            use(SparseLadder(config_, half_lives_, n_features));
        else if (config_.quantiles)
            use(SparseStore(config_, n_features));
        else
            use(SparseMoments(config_, n_features));
    }

    // Calls use(store) if the store is dense.
    template <class Use>
    void with_blocks(const Use& use) {
        if (auto* dense = std::get_if<DenseStore>(&store_)) use(*dense);
        if (auto* ladder = std::get_if<LadderStore>(&store_)) use(*ladder);
    }
    template <class Use>
    void with_blocks(const Use& use) const {
        if (const auto* dense = std::get_if<DenseStore>(&store_)) use(*dense);
        if (const auto* ladder = std::get_if<LadderStore>(&store_)) use(*ladder);
    }

    // Factor of a weight stored at `epoch` for its present value.
    double unit_of(std::size_t rung, std::int64_t epoch) const {
        return rungs() == 1 ? timeline_.unit(epoch)
                            : timeline_.with_half_life(half_lives_.at(rung)).unit(epoch);
    }

    // Calls use(store) if the store is sparse.
    template <class Use>
    void with_sparse(const Use& use) {
        if (auto* store = std::get_if<SparseStore>(&store_)) use(*store);
        if (auto* moments = std::get_if<SparseMoments>(&store_)) use(*moments);
        if (auto* ladder = std::get_if<SparseLadder>(&store_)) use(*ladder);
    }
    template <class Use>
    void with_sparse(const Use& use) const {
        with_columns(use);
        if (const auto* ladder = std::get_if<SparseLadder>(&store_)) use(*ladder);
    }
    // The same if it has one half-life.
    template <class Use>
    void with_columns(const Use& use) const {
        if (const auto* store = std::get_if<SparseStore>(&store_)) use(*store);
        if (const auto* moments = std::get_if<SparseMoments>(&store_)) use(*moments);
    }

    template <class T>
    void take(const MatrixView<T>& matrix, const RowInfo& info, unsigned n_threads) {
        if (std::holds_alternative<std::monostate>(store_)) make_blocks(matrix.n_cols);
        widen_to(matrix.n_cols);
        with_blocks([&](auto& dense) { dense.update(matrix, info, fading(), n_threads); });
        add_rows(matrix, info, n_threads);
    }

    template <class T, class Index>
    void take(const CsrView<T, Index>& matrix, const RowInfo& info, unsigned n_threads) {
        if (std::holds_alternative<std::monostate>(store_)) make_sparse(matrix.n_cols);
        widen_to(matrix.n_cols);
        with_blocks([&](auto& dense) {
            for_each_dense_part(
                matrix, n_features_, absent_entry(), [&](std::size_t i, const auto& part) {
                    dense.update(part, info.part(i, part.n_rows), fading(), n_threads);
                });
        });
        add_rows(matrix, info, n_threads);
    }

    // Adds the store of `other`.
    void join(Bank other, std::span<const std::uint32_t> class_map,
              std::span<const std::size_t> target, std::size_t n_features, unsigned n_threads) {
        if (std::holds_alternative<std::monostate>(store_)) {
            if (other.is_sparse())
                make_sparse(n_features);
            else
                make_blocks(n_features);
            n_features_ = n_features;
        }
        if (is_sparse() && other.is_sparse()) {
            widen_to(n_features);
            with_sparse([&](auto& sparse) {
                using Store = std::decay_t<decltype(sparse)>;
                sparse.merge(std::move(std::get<Store>(other.store_)), target, class_map,
                             n_classes_);
            });
            return;
        }
        // a sparse and a dense state are merged as dense ones, with the zeros written out
        std::vector<std::size_t> places(target.begin(), target.end());
        if (is_sparse()) widen_to(n_features);
        if (other.is_sparse()) {
            other.widen_to(n_features);
            std::vector<bool> taken(n_features, false);
            for (const std::size_t j : target) taken[j] = true;
            for (std::size_t j = 0; j < n_features; ++j)
                if (!taken[j]) places.push_back(j);
        }
        make_dense(n_threads);
        other.make_dense(n_threads);
        widen_to(n_features);
        bool in_place = places.size() == n_features;
        for (std::size_t j = 0; j < places.size(); ++j) in_place = in_place && places[j] == j;
        with_blocks([&](auto& dense) {
            auto& theirs = std::get<std::decay_t<decltype(dense)>>(other.store_);
            dense.merge(in_place ? theirs : theirs.widened(places, n_features), class_map,
                        n_classes_, fading(), n_threads);
        });
    }

    double absent_entry() const { return config_.absent_is_missing ? kMissing : 0.0; }

    void widen_to(std::size_t n_features) {
        with_sparse([&](auto& sparse) {
            if (n_features > sparse.n_features()) sparse.grow(n_features);
        });
        with_blocks([&](auto& dense) {
            if (n_features > dense.n_features()) {
                std::vector<std::size_t> same(dense.n_features());
                for (std::size_t j = 0; j < same.size(); ++j) same[j] = j;
                dense = dense.widened(same, n_features);
            }
        });
        n_features_ = std::max(n_features_, n_features);
    }

    // Adds to the store if it is sparse.
    template <class Rows>
    void add_rows(const Rows& rows, const RowInfo& info, unsigned n_threads) {
        with_sparse([&](auto& sparse) {
            if constexpr (requires { sparse.expect_classes(n_classes_); })
                sparse.expect_classes(n_classes_);
            sparse.update(rows, info, fading(), n_threads);
        });
    }

    Ledger current_ledger(std::size_t rung = 0) const {
        if (const auto* ladder = std::get_if<LadderStore>(&store_))
            return ladder->ledger(rung, n_classes_);
        if (const auto* dense = std::get_if<DenseStore>(&store_))
            return dense->ledger(n_classes_, fading());
        if (const auto* ladder = std::get_if<SparseLadder>(&store_))
            return ladder->ledger(rung, n_classes_);
        Ledger ledger;
        ledger.totals.resize(n_classes_);
        with_columns([&](const auto& sparse) { ledger = sparse.ledger(n_classes_); });
        return ledger;
    }

    std::vector<Ledger> current_ledgers(std::span<const std::size_t> rungs) const {
        std::vector<Ledger> ledgers;
        for (const std::size_t rung : rungs) ledgers.push_back(current_ledger(rung));
        return ledgers;
    }
    // One for each half-life.
    std::vector<SnapshotWriter> writers_of(std::span<const std::size_t> rungs,
                                           std::span<const Ledger> now,
                                           std::span<const SnapshotArrays> out) const {
        std::vector<SnapshotWriter> writers;
        for (std::size_t k = 0; k < rungs.size(); ++k)
            writers.emplace_back(out[k], now[k].totals, unit_of(rungs[k], now[k].epoch));
        return writers;
    }

    void shift_clock(double ticks) {
        const double latest = now() + ticks;
        with_blocks([&](auto& dense) { dense.shift_clock(ticks, latest, fading()); });
        with_sparse([&](auto& sparse) { sparse.shift_clock(ticks, latest, fading()); });
    }

    void make_dense(unsigned n_threads) {
        if (!is_sparse()) return;
        const Ledger now = current_ledger();
        DenseStore dense;
        with_columns(
            [&](const auto& sparse) { dense = written_out(sparse, config_, now, n_threads); });
        store_ = std::move(dense);
    }
};

}  // namespace driftsieve
