#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/base/views.hpp"
#include "driftsieve/dense/open_chunks.hpp"
#include "driftsieve/feature/feature_state.hpp"
#include "driftsieve/feature/held_values.hpp"
#include "driftsieve/quantiles/buckets.hpp"

namespace driftsieve {

// The open rows of a feature and its state as a reader needs them: the bucket of each row, the
// class weights of buckets, and the moments. Rows are added in order, each once. The result depends
// on the rows only, and not on how many were added at a time, so a reader after every batch
// processes only the new rows.
class OpenColumn {
  public:
    // Sums over the open rows of a class that are not in the state.
    struct ClassRows {
        Moments moments;
        double missing = 0.0;
        double missing_squared = 0.0;

        void merge(const ClassRows& other) {
            moments.merge(other.moments);
            missing += other.missing;
            missing_squared += other.missing_squared;
        }
    };

    // Whether these rows are a continuation of the earlier ones.
    bool is_of(const OpenChunks& rows) const { return generation_ == rows.generation(); }

    // Starts without open rows. The weights of `state` are multiplied by `factor`. n_known classes
    // are in complete blocks.
    void begin(const FeatureState& state, double factor, std::size_t n_known,
               const OpenChunks& rows, const Config& config) {
        state_ = &state;
        factor_ = factor;
        n_known_ = n_known;
        generation_ = rows.generation();
        n_rows_ = 0;
        keys_.clear();
        classes_.assign(config.moments || config.ignore_missing ? n_known : 0, {});
        last_.clear();
        if (!config.quantiles) return;
        fit({}, n_known);
        const CountedCells* counted = state.counted();
        hidden_ =
            (state.summary.most_hidden() + (counted == nullptr ? 0.0 : counted->fullest)) * factor;
    }

    // Adds classes.
    void widen(std::size_t n_classes, const Config& config) {
        if (config.moments || config.ignore_missing) classes_.resize(n_classes);
        if (config.quantiles) buckets_.widen(n_classes);
    }

    std::size_t n_rows() const { return n_rows_; }
    const FeatureState& state() const { return *state_; }
    double factor() const { return factor_; }
    const Buckets& buckets() const { return buckets_; }
    std::span<const std::uint8_t> keys() const { return keys_; }
    // Class weights of the state in bucket b.
    HeldValues held(std::size_t b) const {
        return HeldValues(*state_, held_begin_[b], held_begin_[b + 1]);
    }

    // Adds the new rows of a chunk. `values` has all rows of the chunk in the order of its block,
    // and may be overwritten; `column` has all open rows.
    void add(const OpenChunk& chunk, double* values, const MatrixView<double>& column,
             const OpenChunks& rows, const Config& config) {
        if (config.quantiles) {
            find_buckets(chunk, values, config.ignore_missing);
            n_rows_ = chunk.end();
            if (is_checkpoint(n_rows_)) refit_if_crowded(column, rows);
        }
        n_rows_ = chunk.end();
        last_.clear();
        if (classes_.empty()) return;
        const PresentValues present(values, chunk.rows, config.ignore_missing);
        const bool is_full = chunk.size() == OpenChunks::kRows;
        for (std::size_t c = 0; c < chunk.classes.size(); ++c) {
            const ClassRows of_class{config.moments ? present.moments(c) : Moments{},
                                     present.missing(c), present.missing_squared(c)};
            if (is_full)
                classes_[chunk.classes[c]].merge(of_class);
            else
                last_.push_back({chunk.classes[c], of_class});
        }
    }

    // Calls visit(class, rows) once or twice for each class with rows.
    template <class Visit>
    void for_each_class(const Visit& visit) const {
        for (std::size_t c = 0; c < classes_.size(); ++c) visit(c, classes_[c]);
        for (const LastRows& last : last_) visit(last.cls, last.rows);
    }

    // Bound of the error of ranks.
    double hidden() const { return hidden_; }

    std::size_t nbytes() const {
        return sizeof(*this) + keys_.capacity() + buckets_.nbytes() +
               held_begin_.capacity() * sizeof(HeldPlace) +
               classes_.capacity() * sizeof(ClassRows) + last_.capacity() * sizeof(LastRows);
    }

  private:
    struct LastRows {
        std::size_t cls;
        ClassRows rows;
    };

    const FeatureState* state_ = nullptr;
    double factor_ = 1.0;
    std::size_t n_known_ = 0;
    std::uint64_t generation_ = 0;
    std::size_t n_rows_ = 0;
    double hidden_ = 0.0;
    Buckets buckets_;
    std::vector<HeldPlace> held_begin_;  // begin and end of the values of the state in each bucket
    std::vector<std::uint8_t> keys_;     // bucket of each row; Buckets::kNone: missing
    std::vector<ClassRows> classes_;     // of full chunks
    std::vector<LastRows> last_;         // of the last chunk, if it is not full

    // At these numbers of rows buckets may be chosen again: 64, 256, 1024...
    static bool is_checkpoint(std::size_t n) {
        return std::has_single_bit(n) && n >= OpenChunks::kRows && std::countr_zero(n) % 2 == 0;
    }

    void find_buckets(const OpenChunk& chunk, const double* values, bool ignore_missing) {
        const RowBlock& rows = chunk.rows;
        double fresh[OpenChunks::kRows];
        std::uint8_t found[OpenChunks::kRows];
        std::size_t n_fresh = chunk.size();
        if (n_rows_ > chunk.first) {  // some are known
            n_fresh = 0;
            for (std::size_t k = 0; k < chunk.size(); ++k) {
                fresh[n_fresh] = values[k];
                n_fresh += chunk.first + rows.order[k] >= n_rows_;
            }
            values = fresh;
        }
        buckets_.find(values, n_fresh, found);
        if (ignore_missing)
            for (std::size_t k = 0; k < n_fresh; ++k)
                if (std::isnan(values[k])) found[k] = Buckets::kNone;
        keys_.resize(chunk.end());
        if (n_fresh == chunk.size() && !ignore_missing) {
            std::uint8_t* keys = keys_.data() + chunk.first;
            for (std::size_t k = 0; k < n_fresh; ++k) keys[rows.order[k]] = found[k];
            const double* weights = rows.weights_or_null();
            for (std::size_t c = 0; c < chunk.classes.size(); ++c) {
                double* sums = buckets_.of(chunk.classes[c]);
                for (std::size_t k = rows.begin[c]; k < rows.begin[c + 1]; ++k)
                    sums[found[k]] += weights == nullptr ? 1.0 : weights[k];
            }
            return;
        }
        const std::uint8_t* next = found;
        for (std::size_t c = 0; c < chunk.classes.size(); ++c) {
            double* sums = buckets_.of(chunk.classes[c]);
            for (std::size_t k = rows.begin[c]; k < rows.begin[c + 1]; ++k) {
                const std::size_t row = chunk.first + rows.order[k];
                if (row < n_rows_) continue;
                const std::uint8_t key = *next++;
                keys_[row] = key;
                if (key != Buckets::kNone) sums[key] += rows.weight(k);
            }
        }
    }

    void refit_if_crowded(const MatrixView<double>& column, const OpenChunks& rows) {
        std::vector<double> totals;
        buckets_.totals(totals);
        if (!buckets_.is_crowded(totals)) return;
        std::vector<Weighed> sorted(n_rows_);
        for (const OpenChunk& chunk : rows.chunks())
            for (std::size_t c = 0; c < chunk.classes.size() && chunk.end() <= n_rows_; ++c)
                for (std::size_t k = chunk.rows.begin[c]; k < chunk.rows.begin[c + 1]; ++k) {
                    const std::size_t i = chunk.first + chunk.rows.order[k];
                    sorted[i] = {column.at(i, 0), rows.weight(i), chunk.classes[c]};
                }
        const std::vector<Weighed> in_order = sorted;
        std::erase_if(sorted, [](const Weighed& row) { return std::isnan(row.value); });
        sort_by_value(sorted);
        const std::size_t n_classes = buckets_.n_classes();
        std::size_t n_seen = n_known_;
        for (const Weighed& row : in_order) n_seen = std::max<std::size_t>(n_seen, row.cls + 1);
        fit(sorted, n_seen);
        buckets_.widen(n_classes);
        for (std::size_t i = 0; i < n_rows_; ++i) {
            const Weighed& row = in_order[i];
            keys_[i] = Buckets::kNone;
            if (std::isnan(row.value)) continue;
            const std::size_t bucket = buckets_.find(row.value);
            keys_[i] = static_cast<std::uint8_t>(bucket);
            buckets_.of(row.cls)[bucket] += row.weight;
        }
    }

    // Chooses buckets for the state and these rows, which are sorted. Only the state is counted.
    void fit(std::span<const Weighed> rows, std::size_t n_classes) {
        const CountedCells* counted = state_->counted();
        std::vector<double> cells(counted == nullptr ? 0 : counted->map().size() + 2, 0.0);
        if (counted != nullptr) counted->add_to(cells.data(), factor_);
        double weight = state_->summary.weight() * factor_;
        for (const double cell : cells) weight += cell;
        for (const Weighed& row : rows) weight += row.weight;
        buckets_.begin(weight, n_classes);
        do {
            buckets_.begin_lists();
            offer_rows(rows);
            offer_summary();
            offer_cells(cells);
        } while (!buckets_.finish(n_classes));
        held_begin_.assign(buckets_.size() + 1, {});
        add_summary();
        if (counted != nullptr) add_cells(*counted);
    }

    void offer_rows(std::span<const Weighed> rows) {
        buckets_.begin_list();
        for (std::size_t i = 0; i < rows.size();) {
            const double value = rows[i].value;
            double together = 0.0;
            for (; i < rows.size() && rows[i].value == value; ++i) together += rows[i].weight;
            buckets_.offer(together, [=] { return value; });
        }
    }

    void offer_summary() {
        const PackedSummary& summary = state_->summary;
        buckets_.begin_list();
        double together = 0.0;
        std::size_t at = 0;
        const auto offer = [&] {
            buckets_.offer(together, [&] { return summary.values()[at]; });
            together = 0.0;
        };
        summary.for_each_weight(0, summary.size(), [&](std::size_t i, std::size_t, double w) {
            if (i != at) offer();
            at = i;
            together += w * factor_;
        });
        if (!summary.empty()) offer();
    }

    void offer_cells(std::span<const double> cells) {
        std::size_t coarse = 0;
        buckets_.begin_list();
        for (std::size_t m = 1; m + 1 < cells.size(); ++m)
            buckets_.offer(cells[m], [&] { return state_->counted()->map().upper(m, coarse); });
    }

    void add_summary() {
        const PackedSummary& summary = state_->summary;
        std::size_t b = 0;
        for (std::size_t i = 0; i < summary.size(); ++i) {
            while (buckets_.end(b) < summary.values()[i])
                held_begin_[++b].mini_bin = static_cast<std::uint32_t>(i);
        }
        while (b < buckets_.size())
            held_begin_[++b].mini_bin = static_cast<std::uint32_t>(summary.size());
        for (b = 0; b < buckets_.size(); ++b)
            summary.for_each_weight(held_begin_[b].mini_bin, held_begin_[b + 1].mini_bin,
                                    [&](std::size_t, std::size_t c, double weight) {
                                        buckets_.of(c)[b] += weight * factor_;
                                    });
    }

    // A cell counts as its upper end: the cells of a bucket are those before the cell of the double
    // after its end.
    void add_cells(const CountedCells& counted) {
        const std::size_t n_ends = buckets_.size() - 1;
        std::array<double, Buckets::kMost> after;
        std::array<std::uint32_t, Buckets::kMost> finest;
        for (std::size_t b = 0; b < n_ends; ++b) after[b] = next_double(buckets_.end(b));
        const CellMap& map = counted.map();
        kernels().finest_cells(after.data(), n_ends, map.rule(), finest.data());
        std::array<std::uint32_t, Buckets::kMost + 1> begin;
        begin[0] = 1;
        for (std::size_t b = 0; b < n_ends; ++b)
            begin[b + 1] = std::max<std::uint32_t>(begin[b], map.cell(finest[b]));
        begin[n_ends + 1] = static_cast<std::uint32_t>(map.size() + 1);
        for (std::size_t b = 0; b <= n_ends + 1; ++b) held_begin_[b].cell = begin[b];
        for (std::size_t c = 0; c < counted.n_classes(); ++c)
            counted.add_ranges(c, std::span(begin).first(n_ends + 2), factor_, buckets_.of(c));
    }

    static double next_double(double value) {
        if (value == 0.0) return std::numeric_limits<double>::denorm_min();
        const auto bits = std::bit_cast<std::int64_t>(value);
        return std::bit_cast<double>(bits + (bits < 0 ? -1 : 1));
    }
};

// The open rows of one feature with what was computed from them.
struct OpenValues {
    const OpenColumn& column;
    MatrixView<double> values;  // one column
    const OpenChunks& rows;
};

}  // namespace driftsieve
