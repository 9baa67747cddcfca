#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "driftsieve/edge_goal.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/row_block.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

// A few columns that lie side by side, of rows that are in no summary and weigh 1 each: moments and
// exact quantile bins, without sorting and without turning rows into columns.
//
// Every value gets a key of 15 bits that never falls as the value grows: its place in the range of
// the column, less what lies far out. The key of each edge is found bit by bit, by counting how
// many keys lie below, in all columns at once; this ends when few rows are left that share those
// bits with an edge. Only they are looked at, to find the values that are the edges. Keys are many
// more than rows, so that is soon the case; where the rows crowd at a few places or values repeat,
// more are looked at, and the result is as exact.
class ExactStrip {
  public:
    static constexpr std::size_t kWidth = Kernels::kStrip;

    static bool serves(const RowBlock& block) {
        return block.weights.empty() && !block.order.empty() &&
               block.order.size() <= static_cast<std::size_t>(Kernels::kTopKey);
    }

    // Columns [lo, hi) of the block, cut into n_bins; 0: not at all.
    void read(const MatrixView<double>& matrix, const RowBlock& block, std::size_t lo,
              std::size_t hi, std::size_t n_bins) {
        block_ = &block;
        width_ = hi - lo;
        n_edges_ = n_bins == 0 ? 0 : n_bins - 1;
        copy(matrix, lo);
        if (n_edges_ == 0) return;
        set_keys();
        const std::size_t groups = (n_edges_ + kAtOnce - 1) / kAtOnce;
        edges_.resize(groups * kAtOnce * kWidth);
        above_.resize(groups * block.n_classes() * kAtOnce * kWidth);
        for (std::size_t g = 0; g < groups; ++g) find_edges(g, n_bins);
    }

    // All below: column j of the strip.
    //
    // Whether a value is missing, or so near the limits of double that differences overflow; then
    // nothing else is of use but the values.
    bool is_whole(std::size_t j) const { return whole_[j]; }

    void values(std::size_t j, double* out) const {
        for (std::size_t k = 0; k < size(); ++k) out[k] = rows_[k * kWidth + j];
    }

    Moments moments(std::size_t cls, std::size_t j) const {
        const ClassSums& of = sums_[cls];
        return Moments::from_sums(block_->class_weights[cls], of.sums.sum[j], of.sums.squares[j],
                                  of.shift[j]);
    }

    double edge(std::size_t e, std::size_t j) const {
        return edges_[e * kWidth + j] + 0.0;  // there is one zero, not two
    }

    // Rows of a class, and those of them above edge e.
    double rows(std::size_t cls) const { return block_->class_weights[cls]; }
    double above(std::size_t e, std::size_t cls, std::size_t j) const {
        const std::size_t group = e / kAtOnce * block_->n_classes() + cls;
        return static_cast<double>(above_[(group * kAtOnce + e % kAtOnce) * kWidth + j]);
    }

  private:
    static constexpr std::size_t kAtOnce = Kernels::kPivots;
    // Rows to be looked at for each edge, on average, rather than to count once more.
    static constexpr std::size_t kFew = 2;
    static constexpr std::size_t kSampled = 8;  // parts of the sample, of four rows each

    struct ClassSums {
        std::array<double, kWidth> shift;
        Kernels::StripSums sums;
    };

    const RowBlock* block_ = nullptr;
    std::size_t width_ = 0;
    std::size_t n_edges_ = 0;
    Room<double> rows_;  // class after class, kWidth columns side by side
    Room<double> padded_;
    std::vector<ClassSums> sums_;
    Kernels::StripRange range_;
    std::array<bool, kWidth> whole_;
    std::array<std::int16_t, kWidth> spread_;  // -1: whole, and not all values are the same
    Room<std::int16_t> keys_;
    Room<std::uint32_t> places_;
    Room<double> members_;
    std::array<std::uint32_t, kAtOnce * kWidth + 1> members_begin_;
    Room<double> edges_;
    Room<std::int16_t> above_;

    std::size_t size() const { return block_->order.size(); }

    // Rows in the order of the block, and what is learnt on the way.
    void copy(const MatrixView<double>& matrix, std::size_t lo) {
        MatrixView<double> from = {matrix.data + lo, matrix.row_stride, 1, size(), kWidth};
        if (width_ < kWidth) from = pad(from);
        rows_.resize(size() * kWidth);
        sums_.resize(block_->n_classes());
        std::fill_n(range_.low, kWidth, std::numeric_limits<double>::infinity());
        std::fill_n(range_.high, kWidth, -std::numeric_limits<double>::infinity());
        whole_.fill(true);
        for (std::size_t c = 0; c < block_->n_classes(); ++c) {
            const std::size_t first = block_->begin[c];
            const std::size_t count = block_->begin[c + 1] - first;
            if (count == 0) {
                sums_[c] = {};
                continue;
            }
            ClassSums& of = sums_[c];
            std::copy_n(from.row(block_->order[first]), kWidth, of.shift.begin());
            kernels().copy_rows(
                {from.data, from.row_stride, block_->order.data() + first, nullptr, count},
                of.shift.data(), rows_.data() + first * kWidth, of.sums, range_);
            for (std::size_t j = 0; j < kWidth; ++j)
                whole_[j] = whole_[j] && std::isfinite(of.sums.sum[j]);
        }
    }

    // The last column again and again where there are fewer than kWidth.
    MatrixView<double> pad(const MatrixView<double>& from) {
        padded_.resize(size() * kWidth);
        for (std::size_t i = 0; i < size(); ++i)
            for (std::size_t j = 0; j < kWidth; ++j)
                padded_[i * kWidth + j] = from.row(i)[std::min(j, width_ - 1)];
        return {padded_.data(), kWidth, 1, size(), kWidth};
    }

    void set_keys() {
        const Kernels::StripRange inner = inner_range();
        Kernels::KeyRule rule;
        for (std::size_t j = 0; j < kWidth; ++j) {
            spread_[j] = whole_[j] && range_.low[j] < range_.high[j] ? -1 : 0;
            const double range = inner.high[j] - inner.low[j];
            rule.low[j] = inner.low[j];
            // where no number would do, all have key 0
            rule.per_key[j] =
                range > 1e-300 && std::isfinite(range) ? Kernels::kTopKey / range : 0.0;
        }
        keys_.resize(size() * kWidth);
        kernels().find_keys(rows_.data(), size(), rule, keys_.data());
    }

    // Where most values are: between the second smallest and the second largest of the extremes
    // of a few parts of a sample, and as far again on both sides, but not beyond the range.
    Kernels::StripRange inner_range() const {
        constexpr double inf = std::numeric_limits<double>::infinity();
        std::array<double, kWidth> low, high, second_low, second_high;
        low.fill(inf);
        second_low.fill(inf);
        high.fill(-inf);
        second_high.fill(-inf);
        for (std::size_t i = 0; i < kSampled; ++i) {
            // four rows at a time: then a few far out are no reason to believe in a wide range
            const double* rows[4];
            for (std::size_t r = 0; r < 4; ++r)
                rows[r] = rows_.data() + (4 * i + r) * size() / (4 * kSampled) * kWidth;
            for (std::size_t j = 0; j < kWidth; ++j) {
                const double smallest =
                    std::min(std::min(rows[0][j], rows[1][j]), std::min(rows[2][j], rows[3][j]));
                const double largest =
                    std::max(std::max(rows[0][j], rows[1][j]), std::max(rows[2][j], rows[3][j]));
                second_low[j] = std::min(second_low[j], std::max(low[j], smallest));
                low[j] = std::min(low[j], smallest);
                second_high[j] = std::max(second_high[j], std::min(high[j], largest));
                high[j] = std::max(high[j], largest);
            }
        }
        Kernels::StripRange inner = range_;
        for (std::size_t j = 0; j < kWidth; ++j) {
            const double margin = second_high[j] - second_low[j];
            if (!(margin > 0.0)) continue;
            inner.low[j] = std::max(inner.low[j], second_low[j] - margin);
            inner.high[j] = std::min(inner.high[j], second_high[j] + margin);
        }
        return inner;
    }

    // Group g of kAtOnce edges; the last edge fills up the last group.
    void find_edges(std::size_t g, std::size_t n_bins) {
        std::array<std::int16_t, kAtOnce * kWidth> ranks;
        for (std::size_t at = 0; at < ranks.size(); ++at)
            ranks[at] = static_cast<std::int16_t>(
                edge_rank(std::min(g * kAtOnce + at / kWidth, n_edges_ - 1), size(), n_bins));
        Kernels::KeyCells cells;
        const std::int16_t width = narrow(ranks.data(), cells);
        double* edges = edges_.data() + g * kAtOnce * kWidth;
        for (std::size_t j = 0; j < kWidth; ++j) {
            std::size_t n_members = 0;
            for (std::size_t at = j; at < ranks.size(); at += kWidth) {
                edges[at] = range_.low[j];
                n_members += static_cast<std::size_t>(cells.size[at]);
            }
            if (n_members > size()) look_at_crowd(cells, width, ranks.data(), j, edges);
        }
        gather(cells, width);
        for (std::size_t at = 0; at < ranks.size(); ++at)
            if (cells.size[at] > 0) edges[at] = value_of(at, ranks[at] - cells.below[at]);
        const std::size_t n_classes = block_->n_classes();
        for (std::size_t c = 0; c < n_classes; ++c)
            kernels().count_rows_above(rows_.data() + block_->begin[c] * kWidth,
                                       block_->begin[c + 1] - block_->begin[c], edges,
                                       above_.data() + (g * n_classes + c) * kAtOnce * kWidth);
    }

    // Finds cells of keys in which the ranks are, until they hold few rows; returns their width.
    std::int16_t narrow(const std::int16_t* ranks, Kernels::KeyCells& cells) const {
        constexpr std::size_t n = kAtOnce * kWidth;
        std::fill_n(cells.key, n, std::int16_t{0});
        std::fill_n(cells.below, n, std::int16_t{0});
        std::fill_n(cells.size, n, static_cast<std::int16_t>(size()));
        int width = Kernels::kTopKey + 1;
        do {
            width /= 2;
            kernels().halve_cells(keys_.data(), size(), ranks, static_cast<std::int16_t>(width),
                                  cells);
            for (std::size_t at = 0; at < n; ++at)
                cells.size[at] = static_cast<std::int16_t>(cells.size[at] & spread_[at % kWidth]);
        } while (width > 1 &&
                 std::accumulate(cells.size, cells.size + n, std::size_t{0}) > kFew * n);
        return static_cast<std::int16_t>(width);
    }

    // Values in the cells, cell after cell, with room for one more each.
    void gather(Kernels::KeyCells& cells, std::int16_t width) {
        std::array<std::uint32_t, kAtOnce * kWidth> next;
        std::uint32_t begin = 0;
        for (std::size_t at = 0; at < next.size(); ++at) {
            if (cells.size[at] == 0) cells.key[at] = -1;  // no key is
            members_begin_[at] = next[at] = begin;
            begin += static_cast<std::uint32_t>(cells.size[at]) + 1;
        }
        members_begin_[next.size()] = begin;
        members_.resize(begin);
        places_.resize(size() * kWidth);
        const std::size_t n_places =
            kernels().find_in_cells(keys_.data(), size(), cells.key, width, places_.data());
        for (std::size_t i = 0; i < n_places; ++i) {
            const std::uint32_t place = places_[i];
            const std::size_t j = place % kWidth;
            const int key = keys_[place] & -width;
            for (std::size_t at = j; at < next.size(); at += kWidth) {
                members_[next[at]] = rows_[place];
                next[at] += key == cells.key[at] ? 1 : 0;
            }
        }
    }

    // The value of a rank, 1 for the smallest, of those that were gathered for a cell.
    double value_of(std::size_t at, int rank) {
        double* first = members_.data() + members_begin_[at];
        double* last = members_.data() + members_begin_[at + 1] - 1;
        std::nth_element(first, first + (rank - 1), last);
        return first[rank - 1];
    }

    // Column j, where many values are in the cells, most of them equal: finds its edges in another
    // way, and leaves no members to be gathered.
    void look_at_crowd(Kernels::KeyCells& cells, int width, const std::int16_t* ranks,
                       std::size_t j, double* edges) {
        members_.resize(size());
        double* first = members_.data();
        double* last = first;
        int gathered = -1;
        for (std::size_t at = j; at < kAtOnce * kWidth; at += kWidth) {
            const int key = cells.key[at];
            if (key != gathered) {
                last = first;
                for (std::size_t i = j; i < size() * kWidth; i += kWidth) {
                    *last = rows_[i];
                    last += (keys_[i] & -width) == key ? 1 : 0;
                }
                gathered = key;
            }
            double* nth = first + (ranks[at] - cells.below[at] - 1);
            if (!std::equal(first + 1, last, first)) std::nth_element(first, nth, last);
            edges[at] = *nth;
            cells.size[at] = 0;
        }
    }
};

}  // namespace driftsieve
