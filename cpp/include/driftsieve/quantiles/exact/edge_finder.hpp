#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "driftsieve/base/row_block.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/room.hpp"
#include "driftsieve/quantiles/edge_goal.hpp"

namespace driftsieve {

// Finds the quantile edges of a few adjacent columns, exactly, and how many rows of each class are
// above them, without sorting and without transposing.
//
// Every value gets a key of eight bits that is monotonic: its position in the range that has most
// values according to a sample. The key of each edge is found bit by bit, by counting how many keys
// are below, in all columns at once. Only the rows with the key of an edge are compared, to find
// the value that is the edge. If rows are concentrated or values repeat, more are compared, and the
// result is exact as well.
class EdgeFinder {
  public:
    static constexpr std::size_t kWidth = Kernels::kStrip;
    static constexpr std::size_t kAtOnce = Kernels::kPivots;
    static constexpr std::size_t kMostRows = std::numeric_limits<std::int16_t>::max();

    // kWidth adjacent columns, in the rows of a block; both must not move.
    void begin(const MatrixView<double>& rows, const RowBlock& block) {
        rows_ = rows;
        block_ = &block;
        keys_.resize(size() * kWidth);
        set_rule();
    }

    // The keys must be written here, by the rule: row after row in the order of the block.
    const Kernels::KeyRule& rule() const { return rule_; }
    std::int8_t* keys() { return keys_.data(); }

    // Edges first to first + kAtOnce - 1 of all columns; beyond the last edge, the last one is
    // repeated: edges[i * kWidth + j] for edge first + i and column j. Above them are above[(c *
    // kAtOnce + i) * kWidth + j] rows of class c. Columns that are not whole, which may have NaN,
    // are skipped.
    void find(std::size_t first, std::size_t n_bins, const std::array<bool, kWidth>& whole,
              double* edges, std::int16_t* above) {
        for (std::size_t e = 0; e < kAtOnce; ++e) {
            const std::size_t rank = edge_rank(std::min(first + e, n_bins - 2), size(), n_bins);
            std::fill_n(ranks_.begin() + e * kWidth, kWidth, static_cast<std::int16_t>(rank));
        }
        narrow();
        count_above(above);
        std::array<std::int32_t, kWidth> n_members{};
        for (std::size_t e = 0; e < kAtOnce; ++e)
            for (std::size_t j = 0; j < kWidth; ++j) {
                std::int16_t& count = cells_.size[e * kWidth + j];
                count = whole[j] ? count : std::int16_t{0};
                n_members[j] += count;
            }
        for (std::size_t j = 0; j < kWidth; ++j)
            if (static_cast<std::size_t>(n_members[j]) > size() / kCrowd)
                look_at_crowd(j, edges, above);
        gather();
        for (std::size_t at = 0; at < kCells; ++at)
            if (cells_.size[at] > 0) edges[at] = value_of(at);
        count_members(edges, above);
    }

  private:
    static constexpr std::size_t kCells = kAtOnce * kWidth;
    static constexpr std::size_t kSampled = 8;  // parts of the sample, of four rows each
    // values are concentrated if one row of so many has the same key
    static constexpr std::size_t kCrowd = 4;

    // A row whose key is that of an edge, or of several: the first of them.
    struct Member {
        double value;
        std::uint32_t cls;
        std::uint32_t at;
    };

    MatrixView<double> rows_;
    const RowBlock* block_ = nullptr;
    Kernels::KeyRule rule_;
    Room<std::int8_t> keys_;
    std::array<std::int16_t, kCells> ranks_;
    Kernels::KeyCells cells_;
    Room<std::uint32_t> places_;
    Room<Member> members_;
    Room<double> values_;                      // of some members
    Room<double> column_;                      // by place
    std::array<std::uint32_t, kCells> first_;  // edge of a column that has the same key
    std::array<std::uint32_t, kCells> members_begin_;
    bool any_shared_ = false;
    // The first members of each cell, contiguous, then infinity; the last row is for others.
    std::array<double, (Kernels::kSlots + 1) * kCells> slots_;

    std::size_t size() const { return block_->order.size(); }
    const double* row(std::size_t place) const { return rows_.row(block_->order[place]); }

    // Keys cover most values: from the third smallest to the third largest of the extremes of a few
    // parts of a sample, and half as far again from the centre.
    void set_rule() {
        constexpr double inf = std::numeric_limits<double>::infinity();
        std::array<std::array<double, kWidth>, 3> low, high;
        std::array<double, kWidth> middle{};
        for (std::size_t i = 0; i < 3; ++i) {
            low[i].fill(inf);
            high[i].fill(-inf);
        }
        for (std::size_t i = 0; i < kSampled; ++i) {
            // four rows at a time, so that a few outliers do not widen the range
            const double *a = sampled(4 * i), *b = sampled(4 * i + 1);
            const double *c = sampled(4 * i + 2), *d = sampled(4 * i + 3);
            for (std::size_t j = 0; j < kWidth; ++j) {
                const double smallest = std::min(std::min(a[j], b[j]), std::min(c[j], d[j]));
                const double largest = std::max(std::max(a[j], b[j]), std::max(c[j], d[j]));
                middle[j] += ((a[j] + b[j]) + (c[j] + d[j]) - smallest) - largest;
                low[2][j] = std::min(low[2][j], std::max(low[1][j], smallest));
                low[1][j] = std::min(low[1][j], std::max(low[0][j], smallest));
                low[0][j] = std::min(low[0][j], smallest);
                high[2][j] = std::max(high[2][j], std::min(high[1][j], largest));
                high[1][j] = std::max(high[1][j], std::min(high[0][j], largest));
                high[0][j] = std::max(high[0][j], largest);
            }
        }
        for (std::size_t j = 0; j < kWidth; ++j) {
            const double centre = middle[j] / (2.0 * kSampled);
            rule_.centre[j] = centre;
            rule_.below[j] = keys_for(1.5 * (centre - low[2][j]), centre);
            rule_.above[j] = keys_for(1.5 * (high[2][j] - centre), centre);
        }
    }

    const double* sampled(std::size_t i) const { return row(i * size() / (4 * kSampled)); }

    // Keys per unit for that range.
    static double keys_for(double range, double centre) {
        // without sample values on this side, only far values would have keys there
        if (!(range > 0.0)) range = std::max(std::abs(centre) * 1e-12, 1e-290);
        // if no factor is valid, all values have key 0
        return range > 1e-300 && std::isfinite(range) ? Kernels::kTopKey / range : 0.0;
    }

    // Finds the keys of the ranks, and how many rows have them.
    void narrow() {
        quarter();
        for (int width = 32; width > 0; width /= 2)
            kernels().halve_cells(keys_.data(), size(), ranks_.data(), width, cells_);
    }

    // The first two bits of all edges are found at once: by how many keys lie in each quarter.
    void quarter() {
        constexpr int kQuarter = 64, kLowest = -128;
        static_assert(kAtOnce == 4);
        const int n = static_cast<int>(size());
        std::array<std::int8_t, kCells> edges;  // none is above the last
        std::array<std::int16_t, kCells> above;
        for (std::size_t at = 0; at < kCells; ++at)
            edges[at] = static_cast<std::int8_t>(kLowest - 1 +
                                                 kQuarter * (1 + static_cast<int>(at / kWidth)));
        kernels().count_keys_above(keys_.data(), size(), edges.data(), above.data());
        for (std::size_t e = 0; e < kAtOnce; ++e)
            for (std::size_t j = 0; j < kWidth; ++j) {
                const std::size_t at = e * kWidth + j;
                std::int16_t key = kLowest, below = 0;
                auto end = static_cast<std::int16_t>(n - above[j]);
                for (std::size_t q = 1; q < 4; ++q) {
                    const bool higher = end < ranks_[at];
                    const auto next = static_cast<std::int16_t>(n - above[q * kWidth + j]);
                    key = static_cast<std::int16_t>(key + (higher ? kQuarter : 0));
                    below = higher ? end : below;
                    end = higher ? next : end;
                }
                cells_.key[at] = static_cast<std::int8_t>(key);
                cells_.below[at] = below;
                cells_.size[at] = static_cast<std::int16_t>(end - below);
            }
    }

    // How many rows of each class have keys above those of the edges: the largest class has the
    // difference of all rows and the other classes.
    void count_above(std::int16_t* above) const {
        const auto size_of = [&](std::size_t c) { return block_->begin[c + 1] - block_->begin[c]; };
        std::size_t largest = 0;
        for (std::size_t c = 1; c < block_->n_classes(); ++c)
            if (size_of(c) > size_of(largest)) largest = c;
        std::int16_t* const rest = above + largest * kCells;
        for (std::size_t at = 0; at < kCells; ++at)
            rest[at] = static_cast<std::int16_t>(static_cast<int>(size()) - cells_.below[at] -
                                                 cells_.size[at]);
        for (std::size_t c = 0; c < block_->n_classes(); ++c) {
            if (c == largest) continue;
            kernels().count_keys_above(keys_.data() + block_->begin[c] * kWidth, size_of(c),
                                       cells_.key, above + c * kCells);
            for (std::size_t at = 0; at < kCells; ++at)
                rest[at] = static_cast<std::int16_t>(rest[at] - above[c * kCells + at]);
        }
    }

    // The members of all cells, cell after cell; and in slots, sorted, if they are few, which is
    // usual.
    void gather() {
        any_shared_ = false;
        std::array<std::uint32_t, kCells> next;
        std::uint32_t begin = 0;
        for (std::size_t at = 0; at < kCells; ++at) {
            if (cells_.size[at] == 0) cells_.key[at] = Kernels::kNoKey;
            const bool shared = at >= kWidth && cells_.key[at] == cells_.key[at - kWidth];
            first_[at] = shared ? first_[at - kWidth] : static_cast<std::uint32_t>(at);
            members_begin_[at] = next[at] = shared ? members_begin_[first_[at]] : begin;
            if (!shared) begin += static_cast<std::uint32_t>(cells_.size[at]);
            any_shared_ = any_shared_ || (shared && cells_.size[at] > 0);
        }
        members_.resize(begin);
        places_.resize(size() * kWidth + 4);
        kernels().find_in_cells(keys_.data(), size(), cells_.key, places_.data());
        slots_.fill(std::numeric_limits<double>::infinity());
        std::uint32_t cls = 0;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const std::size_t k = places_[i] / kWidth;
            const std::size_t j = places_[i] % kWidth;
            while (k >= block_->begin[cls + 1]) ++cls;
            const std::int8_t key = keys_[places_[i]];
            std::size_t at = j;  // keys of edges ascend
            for (std::size_t e = 0; e + 1 < kAtOnce; ++e)
                at += key > cells_.key[e * kWidth + j] ? kWidth : 0;
            const double value = row(k)[j];
            const std::size_t slot =
                std::min<std::size_t>(next[at] - members_begin_[at], Kernels::kSlots);
            slots_[slot * kCells + at] = value;
            members_[next[at]++] = {value, cls, static_cast<std::uint32_t>(at)};
        }
        kernels().sort_slots(slots_.data());
    }

    // The value at the rank of an edge.
    double value_of(std::size_t at) {
        const auto n_members = static_cast<std::size_t>(cells_.size[at]);
        if (n_members <= Kernels::kSlots) return slots_[place_of(at) * kCells + first_[at]];
        values_.resize(n_members);
        for (std::size_t i = 0; i < n_members; ++i)
            values_[i] = members_[members_begin_[at] + i].value;
        return select(at);
    }

    // The position of an edge among the sorted members of its cell.
    std::size_t place_of(std::size_t at) const {
        return static_cast<std::size_t>(ranks_[at] - cells_.below[at] - 1);
    }

    double select(std::size_t at) {
        const auto nth = values_.begin() + static_cast<std::ptrdiff_t>(place_of(at));
        std::nth_element(values_.begin(), nth, values_.end());
        return *nth;
    }

    // Members above their edges.
    void count_members(const double* edges, std::int16_t* above) const {
        for (const Member& member : members_) {
            std::size_t at = member.at;
            do {
                std::int16_t& count = above[member.cls * kCells + at];
                count = static_cast<std::int16_t>(count + (member.value > edges[at] ? 1 : 0));
                at += kWidth;
            } while (any_shared_ && at < kCells && first_[at] == member.at);
        }
    }

    // Column j, if many rows have the keys of the edges, most of them the same value: the edges are
    // found separately, and no members remain.
    void look_at_crowd(std::size_t j, double* edges, std::int16_t* above) {
        column_.resize(size());
        for (std::size_t k = 0; k < size(); ++k) column_[k] = row(k)[j];
        for (std::size_t at = j; at < kCells; at += kWidth) {
            std::size_t k = 0;
            while (keys_[k * kWidth + j] != cells_.key[at]) ++k;
            edges[at] = has_rank(column_[k], at) ? column_[k] : select_in_column(at);
            for (std::size_t c = 0; c < block_->n_classes(); ++c)
                above[c * kCells + at] = static_cast<std::int16_t>(
                    kernels().count_above(column_.data() + block_->begin[c],
                                          block_->begin[c + 1] - block_->begin[c], edges[at]));
            cells_.size[at] = 0;
        }
    }

    // Whether a value of the column is the edge: fewer rows than its rank are below, and at most
    // size() minus the rank are above.
    bool has_rank(double value, std::size_t at) const {
        constexpr double inf = std::numeric_limits<double>::infinity();
        const auto above = [&](double edge) {
            return kernels().count_above(column_.data(), size(), edge);
        };
        const std::size_t not_below = size() + 1 - static_cast<std::size_t>(ranks_[at]);
        return above(value) < not_below && above(std::nextafter(value, -inf)) >= not_below;
    }

    double select_in_column(std::size_t at) {
        values_.clear();
        for (std::size_t k = 0; k < size(); ++k)
            if (keys_[k * kWidth + at % kWidth] == cells_.key[at]) values_.push_back(column_[k]);
        return select(at);
    }
};

}  // namespace driftsieve
