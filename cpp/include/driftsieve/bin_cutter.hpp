#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/cells.hpp"
#include "driftsieve/column.hpp"

namespace driftsieve {

// Where a cut goes: edges are K - 1 values, NaN where the column has no weight; bins are K x C
// weights, multiplied by `unit`, class c at class_place[c].
struct CutTarget {
    std::span<const std::uint32_t> class_place;
    std::size_t n_bins;
    double unit;
    double* edges;
    double* bins;
};

// Cuts a column into quantile bins of its faded distribution: edge i is the smallest value whose
// cumulative weight reaches i / K of the whole. Exact for what the column holds.
//
// Sorting all values would be a waste for K - 1 ranks. Everything is counted into cells, the cells
// in which the ranks lie are found, and only the members of those are sorted.
class BinCutter {
  public:
    // A cumulative weight counts as having reached i * W / K from this share of it on, so that
    // rounding in the sums does not move an edge. The offline reference uses the same number.
    static constexpr long double kEdgeTolerance = 1e-12L;

    void cut(const Column& column, const CutTarget& out) {
        const std::size_t n_classes = column.entries.size();
        std::fill_n(out.edges, out.n_bins - 1, std::numeric_limits<double>::quiet_NaN());
        std::fill_n(out.bins, out.n_bins * n_classes, 0.0);
        count(column);
        long double total = 0.0L;
        for (const long double cell : cell_totals_) total += cell;
        if (total == 0.0L) return;
        find_cells(total, out.n_bins);
        gather(column);
        walk(total, n_classes, out);
    }

  private:
    static constexpr std::size_t kCells = 512;
    static constexpr std::size_t kFew = 32;

    struct Member {
        double value;
        double weight;
        std::uint32_t cls;
    };
    struct CutCell {
        std::uint16_t cell;
        std::size_t edges;  // that lie in this cell or before it
        std::vector<Member> members;
    };

    CellGrid grid_;
    std::size_t n_cells_ = 0;
    std::vector<std::vector<std::uint16_t>> raw_index_;    // by class
    std::vector<std::vector<std::uint16_t>> entry_index_;  // by class
    std::vector<double> values_;
    std::vector<double> cells_;  // class after class
    std::vector<long double> cell_totals_;
    std::vector<CutCell> cut_cells_;          // ascending
    std::vector<std::uint16_t> cut_of_cell_;  // by cell: position in cut_cells_ plus 1, or 0

    void count(const Column& column) {
        const std::size_t n_classes = column.entries.size();
        raw_index_.resize(n_classes);
        entry_index_.resize(n_classes);
        choose_grid(column);
        n_cells_ = grid_.size() + 2;
        cells_.assign(n_classes * n_cells_, 0.0);
        for (std::size_t c = 0; c < n_classes; ++c) {
            double* cells = cells_.data() + c * n_cells_;
            const RawValues& raw = column.raw[c];
            index(raw.values, raw_index_[c]);
            for (std::size_t i = 0; i < raw.values.size(); ++i)
                cells[raw_index_[c][i]] += raw.weight(i);
            const Entries& entries = column.entries[c];
            values_.resize(entries.size());
            for (std::size_t i = 0; i < entries.size(); ++i) values_[i] = entries[i].value;
            index(values_, entry_index_[c]);
            for (std::size_t i = 0; i < entries.size(); ++i)
                cells[entry_index_[c][i]] += entries[i].weight;
        }
        cell_totals_.assign(n_cells_, 0.0L);
        for (std::size_t c = 0; c < n_classes; ++c)
            for (std::size_t m = 0; m < n_cells_; ++m) cell_totals_[m] += cells_[c * n_cells_ + m];
    }

    // Over the class with most raw values, or else with most entries; none if there are few.
    void choose_grid(const Column& column) {
        grid_ = CellGrid();
        std::size_t most = kFew;
        for (const RawValues& raw : column.raw) {
            if (raw.values.size() <= most) continue;
            most = raw.values.size();
            grid_ = CellGrid::over(raw.values, std::min(most, kCells));
        }
        if (most > kFew) return;
        for (const Entries& entries : column.entries) {
            if (entries.size() <= most) continue;
            most = entries.size();
            values_.resize(most);
            for (std::size_t i = 0; i < most; ++i) values_[i] = entries[i].value;
            grid_ = CellGrid::over(values_, std::min(most, kCells));
        }
    }

    void index(std::span<const double> values, std::vector<std::uint16_t>& out) const {
        out.resize(values.size());
        if (grid_.size() == 0)
            std::fill(out.begin(), out.end(), std::uint16_t{0});  // no grid: one cell for all
        else
            grid_.indices(values.data(), values.size(), out.data());
    }

    static bool reaches(long double weight, std::size_t edge, std::size_t n_bins,
                        long double total) {
        return weight >= static_cast<long double>(edge + 1) * total /
                             static_cast<long double>(n_bins) * (1.0L - kEdgeTolerance);
    }

    // The cells in which the edges lie.
    void find_cells(long double total, std::size_t n_bins) {
        cut_cells_.clear();
        long double reached = 0.0L;
        std::size_t edge = 0;
        for (std::size_t m = 0; m < n_cells_ && edge + 1 < n_bins; ++m) {
            reached += cell_totals_[m];
            if (!reaches(reached, edge, n_bins, total)) continue;
            while (edge + 1 < n_bins && reaches(reached, edge, n_bins, total)) ++edge;
            cut_cells_.push_back({static_cast<std::uint16_t>(m), edge, {}});
        }
    }

    void gather(const Column& column) {
        cut_of_cell_.assign(n_cells_, 0);
        for (std::size_t k = 0; k < cut_cells_.size(); ++k)
            cut_of_cell_[cut_cells_[k].cell] = static_cast<std::uint16_t>(k + 1);
        for (std::uint32_t c = 0; c < column.entries.size(); ++c) {
            const RawValues& raw = column.raw[c];
            gather(raw_index_[c],
                   [&](std::size_t i) { return Member{raw.values[i] + 0.0, raw.weight(i), c}; });
            const Entries& entries = column.entries[c];
            gather(entry_index_[c],
                   [&](std::size_t i) { return Member{entries[i].value, entries[i].weight, c}; });
        }
        for (CutCell& cut : cut_cells_)
            std::stable_sort(cut.members.begin(), cut.members.end(),
                             [](const Member& a, const Member& b) { return a.value < b.value; });
    }

    template <class MakeMember>
    void gather(std::span<const std::uint16_t> index, const MakeMember& member) {
        for (std::size_t i = 0; i < index.size(); ++i)
            if (const std::uint16_t cut = cut_of_cell_[index[i]]; cut != 0) [[unlikely]]
                cut_cells_[cut - 1].members.push_back(member(i));
    }

    void walk(long double total, std::size_t n_classes, const CutTarget& out) const {
        std::vector<double> in_bin(n_classes, 0.0);  // since the last edge
        long double reached = 0.0L;
        std::size_t edge = 0;
        std::size_t m = 0;
        const auto close_bin = [&](double value) {
            for (std::size_t c = 0; c < n_classes; ++c) {
                out.bins[edge * n_classes + out.class_place[c]] = in_bin[c] * out.unit;
                in_bin[c] = 0.0;
            }
            out.edges[edge++] = value;
        };
        const auto pass_cells = [&](std::size_t end) {
            for (; m < end; ++m) {
                reached += cell_totals_[m];
                for (std::size_t c = 0; c < n_classes; ++c) in_bin[c] += cells_[c * n_cells_ + m];
            }
        };
        for (const CutCell& cut : cut_cells_) {
            pass_cells(cut.cell);
            ++m;
            for (std::size_t i = 0; i < cut.members.size();) {
                const double value = cut.members[i].value;
                // equal values never part
                for (; i < cut.members.size() && cut.members[i].value == value; ++i) {
                    reached += cut.members[i].weight;
                    in_bin[cut.members[i].cls] += cut.members[i].weight;
                }
                const bool last = i == cut.members.size();  // whatever rounding says
                while (edge < cut.edges && (last || reaches(reached, edge, out.n_bins, total)))
                    close_bin(value);
            }
        }
        pass_cells(n_cells_);
        for (std::size_t c = 0; c < n_classes; ++c)
            out.bins[edge * n_classes + out.class_place[c]] = in_bin[c] * out.unit;
    }
};

}  // namespace driftsieve
