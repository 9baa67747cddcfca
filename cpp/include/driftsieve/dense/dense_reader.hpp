#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "driftsieve/base/row_block.hpp"
#include "driftsieve/dense/open_reading.hpp"
#include "driftsieve/dense/strip.hpp"
#include "driftsieve/feature/column.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/quantiles/exact/exact_strip.hpp"

namespace driftsieve {

// The rows of the incomplete block, and how they fade.
struct OpenBlock {
    MatrixView<double> values;
    RowInfo info;
    const Fading& fading;
};

// Reads features of a dense store as columns, including the rows of the open block. Several threads
// may read different features.
class DenseReader {
  public:
    // Features are at the epoch of `ledger`, columns at that of `now`. `kept` has results of
    // earlier reads.
    DenseReader(const Config& config, std::span<const FeatureState> features, const Ledger& ledger,
                const OpenBlock& open, const Ledger& now, KeptReading& kept)
        : config_(config),
          features_(features),
          ledger_(ledger),
          open_(open),
          values_(open.values),
          now_(now) {
        if (values_.n_rows == 0) return;
        if (ledger.empty() && open.info.weights.empty() && !open.fading.fades()) {
            block_ = RowBlock::of(open.info, now.totals.size(), open.fading, now.epoch);
            is_exact_ = ExactStrip::serves(block_);
            if (is_exact_) return;
        }
        use_ = kept.use(now.rows());
        rows_ = use_.reading == nullptr ? &own_rows_ : &use_.reading->chunks;
        rows_->extend(open.info, open.fading, now.epoch);
        if (use_.reading != nullptr) use_.reading->columns.resize(features.size());
    }
    DenseReader(const DenseReader&) = delete;  // it may have pointers into itself

    // Features [lo, hi): visit(j, column) for each, which may already be cut into n_bins (0: no cut
    // is needed).
    template <class Visit>
    void read(std::size_t lo, std::size_t hi, std::size_t n_bins, const Visit& visit) const {
        if (is_exact_)
            read_exact(lo, hi, n_bins, visit);
        else if (values_.n_rows > 0)
            read_open(lo, hi, visit);
        else
            read_finished(lo, hi, visit);
    }

  private:
    static constexpr std::size_t kStrip = Strip::kWidth;

    const Config& config_;
    std::span<const FeatureState> features_;
    const Ledger& ledger_;
    OpenBlock open_;
    MatrixView<double> values_;
    const Ledger& now_;
    RowBlock block_;
    bool is_exact_ = false;  // all rows are open, and weigh 1 each
    KeptReading::Use use_;
    mutable OpenChunks own_rows_;
    mutable std::once_flag has_own_rows_;
    OpenChunks* rows_ = &own_rows_;

    // Factor of the weights of complete blocks.
    double factor() const {
        return ledger_.empty() ? 1.0 : Fading::rebase_factor(now_.epoch - ledger_.epoch);
    }

    template <class Visit>
    void read_finished(std::size_t lo, std::size_t hi, const Visit& visit) const {
        Column column;
        for (std::size_t j = lo; j < hi; ++j) {
            column.reset(now_.totals.size());
            column.load(features_[j], factor());
            visit(j, column);
        }
    }

    template <class Visit>
    void read_open(std::size_t lo, std::size_t hi, const Visit& visit) const {
        Column column;
        std::array<OpenColumn, kStrip> own;
        for (std::size_t first = lo; first < hi; first += kStrip) {
            const std::size_t end = std::min(first + kStrip, hi);
            const std::span<OpenColumn> columns(
                use_.reading == nullptr ? own.data() : use_.reading->columns.data() + first,
                end - first);
            for (std::size_t j = first; j < end; ++j) {
                OpenColumn& open = columns[j - first];
                if (use_.reading == nullptr || !open.is_of(*rows_))
                    open.begin(features_[j], factor(), ledger_.totals.size(), *rows_, config_);
                open.widen(now_.totals.size(), config_);
            }
            catch_up(columns, first);
            for (std::size_t j = first; j < end; ++j) {
                const OpenValues open{columns[j - first], values_.columns(j, 1), *rows_};
                column.reset(now_.totals.size());
                column.load_classes(features_[j], factor());
                column.open = &open;
                open.column.for_each_class([&](std::size_t c, const OpenColumn::ClassRows& rows) {
                    column.missing[c] += rows.missing;
                    column.missing_squared[c] += rows.missing_squared;
                    column.moments[c].merge(rows.moments);
                });
                visit(j, column);
            }
        }
    }

    // Adds the rows that columns [first, first + columns.size()) do not have yet.
    void catch_up(std::span<OpenColumn> columns, std::size_t first) const {
        std::size_t n_known = rows_->n_rows();
        for (const OpenColumn& column : columns) n_known = std::min(n_known, column.n_rows());
        if (n_known == rows_->n_rows()) return;
        std::array<double, kStrip * OpenChunks::kRows> values;
        for (std::size_t k = n_known / OpenChunks::kRows; k < rows_->chunks().size(); ++k) {
            const OpenChunk& chunk = rows_->chunks()[k];
            gather(chunk, first, columns.size(), values.data());
            for (std::size_t j = 0; j < columns.size(); ++j)
                if (columns[j].n_rows() < chunk.end())
                    columns[j].add(chunk, values.data() + j * chunk.size(),
                                   values_.columns(first + j, 1), *rows_, config_);
        }
    }

    // The rows of a chunk in columns [first, first + count), one column after another.
    void gather(const OpenChunk& chunk, std::size_t first, std::size_t count, double* out) const {
        const std::vector<std::uint32_t>& order = chunk.rows.order;
        const MatrixView<double> rows = values_.rows(chunk.first, chunk.size());
        if (count == kStrip) {
            kernels().gather_strip(rows.data + first, rows.row_stride, order.data(), order.size(),
                                   out);
            return;
        }
        for (std::size_t k = 0; k < order.size(); ++k)
            for (std::size_t j = 0; j < count; ++j)
                out[j * order.size() + k] = rows.at(order[k], first + j);
    }

    template <class Visit>
    void read_exact(std::size_t lo, std::size_t hi, std::size_t n_bins, const Visit& visit) const {
        ExactStrip strip;
        Column column;
        for (std::size_t first = lo; first < hi; first += kStrip) {
            const std::size_t end = std::min(first + kStrip, hi);
            strip.read(values_, block_, first, end, n_bins);
            for (std::size_t j = first; j < end; ++j) {
                if (!strip.is_whole(j - first)) {
                    std::call_once(has_own_rows_,
                                   [&] { own_rows_.extend(open_.info, open_.fading, now_.epoch); });
                    read_open(j, j + 1, visit);
                    continue;
                }
                column.reset(now_.totals.size());
                column.exact = &strip;
                column.place = j - first;
                for (std::size_t c = 0; c < column.n_classes(); ++c)
                    column.moments[c] = strip.moments(c, j - first);
                visit(j, column);
            }
        }
    }
};

}  // namespace driftsieve
