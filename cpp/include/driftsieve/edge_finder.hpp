#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "driftsieve/edge_goal.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

// Finds the quantile edges of a few columns that lie side by side, exactly, without sorting and
// without turning rows into columns.
//
// Every value gets a key of 15 bits that never falls as the value grows: its place in the range of
// the column, less what lies far out. The key of each edge is found bit by bit, by counting how
// many keys lie below, in all columns at once; this ends when few rows are left that share those
// bits with an edge. Only they are looked at, to find the values that are the edges. Keys are many
// more than rows, so that is soon the case; where the rows crowd at a few places or values repeat,
// more are looked at, and the result is as exact.
class EdgeFinder {
  public:
    static constexpr std::size_t kWidth = Kernels::kStrip;
    static constexpr std::size_t kAtOnce = Kernels::kPivots;
    static constexpr std::size_t kMostRows = static_cast<std::size_t>(Kernels::kTopKey);

    // n rows, kWidth columns side by side, and the range of each column. Of columns that are not
    // whole nothing will be asked. The rows must stay where they are.
    void read(const double* rows, std::size_t n, const Kernels::StripRange& range,
              const std::array<bool, kWidth>& whole) {
        rows_ = rows;
        size_ = n;
        range_ = range;
        for (std::size_t j = 0; j < kWidth; ++j)
            spread_[j] = whole[j] && range.low[j] < range.high[j] ? -1 : 0;
        set_keys();
    }

    // Edges first to first + kAtOnce - 1 of all columns, the last edge in place of what would be
    // beyond it: edges[i * kWidth + j] for edge first + i and column j.
    void find(std::size_t first, std::size_t n_bins, double* edges) {
        std::array<std::int16_t, kAtOnce * kWidth> ranks;
        for (std::size_t at = 0; at < ranks.size(); ++at)
            ranks[at] = static_cast<std::int16_t>(
                edge_rank(std::min(first + at / kWidth, n_bins - 2), size_, n_bins));
        Kernels::KeyCells cells;
        const std::int16_t width = narrow(ranks.data(), cells);
        for (std::size_t j = 0; j < kWidth; ++j) {
            std::size_t n_members = 0;
            for (std::size_t at = j; at < ranks.size(); at += kWidth) {
                edges[at] = range_.low[j];  // as all values are, where the column does not spread
                n_members += static_cast<std::size_t>(cells.size[at]);
            }
            if (n_members > size_) look_at_crowd(cells, width, ranks.data(), j, edges);
        }
        gather(cells, width);
        for (std::size_t at = 0; at < ranks.size(); ++at)
            if (cells.size[at] > 0) edges[at] = value_of(at, ranks[at] - cells.below[at]);
    }

  private:
    // Rows to be looked at for each edge, on average, rather than to count once more.
    static constexpr std::size_t kFew = 2;
    static constexpr std::size_t kSampled = 8;  // parts of the sample, of four rows each

    const double* rows_ = nullptr;
    std::size_t size_ = 0;
    Kernels::StripRange range_;
    std::array<std::int16_t, kWidth> spread_;  // -1: whole, and not all values are the same
    Room<std::int16_t> keys_;
    Room<std::uint32_t> places_;
    Room<double> members_;
    std::array<std::uint32_t, kAtOnce * kWidth + 1> members_begin_;

    void set_keys() {
        const Kernels::StripRange inner = inner_range();
        Kernels::KeyRule rule;
        for (std::size_t j = 0; j < kWidth; ++j) {
            const double range = inner.high[j] - inner.low[j];
            rule.low[j] = inner.low[j];
            // where no number would do, all have key 0
            rule.per_key[j] =
                range > 1e-300 && std::isfinite(range) ? Kernels::kTopKey / range : 0.0;
        }
        keys_.resize(size_ * kWidth);
        kernels().find_keys(rows_, size_, rule, keys_.data());
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
                rows[r] = rows_ + (4 * i + r) * size_ / (4 * kSampled) * kWidth;
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

    // Finds cells of keys in which the ranks are, until they hold few rows; returns their width.
    std::int16_t narrow(const std::int16_t* ranks, Kernels::KeyCells& cells) const {
        constexpr std::size_t n = kAtOnce * kWidth;
        std::fill_n(cells.key, n, std::int16_t{0});
        std::fill_n(cells.below, n, std::int16_t{0});
        std::fill_n(cells.size, n, static_cast<std::int16_t>(size_));
        int width = Kernels::kTopKey + 1;
        do {
            width /= 2;
            kernels().halve_cells(keys_.data(), size_, ranks, static_cast<std::int16_t>(width),
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
        places_.resize(size_ * kWidth);
        const std::size_t n_places =
            kernels().find_in_cells(keys_.data(), size_, cells.key, width, places_.data());
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
        members_.resize(size_);
        double* first = members_.data();
        double* last = first;
        int gathered = -1;
        for (std::size_t at = j; at < kAtOnce * kWidth; at += kWidth) {
            const int key = cells.key[at];
            if (key != gathered) {
                last = first;
                for (std::size_t i = j; i < size_ * kWidth; i += kWidth) {
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
