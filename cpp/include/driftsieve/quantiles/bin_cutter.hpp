#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "driftsieve/feature/column.hpp"
#include "driftsieve/quantiles/bucket_cutter.hpp"
#include "driftsieve/quantiles/cells.hpp"
#include "driftsieve/quantiles/cut_target.hpp"
#include "driftsieve/quantiles/edge_goal.hpp"

namespace driftsieve {

// Cuts a column into quantile bins of its faded distribution: edge i is the smallest value whose
// cumulative weight reaches i / K of the total. Exact for the values of the column.
//
// Sorting all values is not necessary for K - 1 ranks. All values are counted into cells, the cells
// with the ranks are found, and only their members are sorted. The edges are enough to count the
// classes in the bins.
class BinCutter {
  public:
    // Returns a bound of the error of ranks.
    double cut(const Column& column, const CutTarget& out) {
        if (column.exact != nullptr) return copy(*column.exact, column.place, column, out);
        if (column.cut != nullptr) return column.cut->copy(out);
        if (column.open != nullptr) return open_.cut(*column.open, out);
        out.clear();
        if (column.counted == nullptr) return cut(column.summary, out);
        map_ = &column.counted->map();
        count(column);
        double total = 0.0;
        for (const double stretch : stretches_) total += stretch;
        if (total == 0.0) return 0.0;
        find_edges(column, total, out);
        fill_bins(column, out);
        out.scale();
        return largest_hidden(column.summary) + column.counted->fullest * column.factor;
    }

  private:
    static constexpr std::size_t kStretch = 64;  // cells added up together

    struct Member {
        double value;
        double weight;
    };

    BucketCutter open_;
    const CellMap* map_ = nullptr;
    Room<std::uint32_t> finest_;
    Room<std::uint16_t> place_;  // of the mini-bins of the summary
    Room<double> totals_;        // of the mini-bins
    std::vector<double> cells_;
    std::vector<double> stretches_;  // sums of kStretch cells
    std::vector<Member> members_;

    // Already cut, without an error.
    static double copy(const ExactStrip& strip, std::size_t j, const Column& column,
                       const CutTarget& out) {
        const std::size_t n_classes = column.n_classes();
        const std::size_t n_edges = out.n_bins - 1;
        for (std::size_t e = 0; e < n_edges; ++e) out.edges[e] = strip.edge(e, j);
        for (std::size_t c = 0; c < n_classes; ++c) {
            double above = strip.rows(c);
            double* bins = out.bins + out.class_place[c];
            for (std::size_t e = 0; e < n_edges; ++e) {
                const double more = strip.above(e, c, j);
                bins[e * n_classes] = (above - more) * out.unit;
                above = more;
            }
            bins[n_edges * n_classes] = above * out.unit;
        }
        return 0.0;
    }

    // A summary is already sorted: one walk finds the edges and fills the bins.
    static double cut(const Summary& summary, const CutTarget& out) {
        const std::size_t n_classes = summary.n_classes;
        RunningSum all;
        for (const double weight : summary.weights) all.add(weight);
        const double total = all.value();
        if (total == 0.0) return 0.0;
        std::size_t edge = 0;
        double goal = edge_goal(edge, total, out.n_bins);
        RunningSum reached;
        for (std::size_t i = 0; i < summary.size(); ++i) {
            double* into = out.bins + edge * n_classes;
            for (std::size_t c = 0; c < n_classes; ++c) {
                into[out.class_place[c]] += summary.of(i)[c];
                reached.add(summary.of(i)[c]);
            }
            // the last edge includes everything, despite rounding
            const bool last = i + 1 == summary.size();
            for (; edge + 1 < out.n_bins && (last || reached.value() >= goal);
                 goal = edge_goal(edge, total, out.n_bins))
                out.edges[edge++] = summary.values[i];
        }
        out.scale();
        return largest_hidden(summary);
    }

    static double largest_hidden(const Summary& summary) {
        double largest = 0.0;
        for (const double hidden : summary.hidden) largest = std::max(largest, hidden);
        return largest;
    }

    void count(const Column& column) {
        const Summary& summary = column.summary;
        cells_.assign(map_->size() + 2, 0.0);
        column.counted->add_to(cells_.data(), column.factor);
        index(summary.values, place_);
        totals_.resize(summary.size());
        for (std::size_t i = 0; i < summary.size(); ++i) {
            totals_[i] = summary.total(i);
            cells_[place_[i]] += totals_[i];
        }
        stretches_.clear();
        for (std::size_t m = 0; m < cells_.size(); m += kStretch)
            stretches_.push_back(sum(m, std::min(m + kStretch, cells_.size())));
    }

    // In four independent sums.
    double sum(std::size_t begin, std::size_t end) const {
        double parts[4] = {};
        std::size_t m = begin;
        for (; m + 4 <= end; m += 4)
            for (std::size_t k = 0; k < 4; ++k) parts[k] += cells_[m + k];
        for (; m < end; ++m) parts[0] += cells_[m];
        return (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }

    void index(std::span<const double> values, Room<std::uint16_t>& out) {
        out.resize(values.size());
        finest_.resize(values.size());
        kernels().finest_cells(values.data(), values.size(), map_->rule(), finest_.data());
        for (std::size_t i = 0; i < values.size(); ++i) out[i] = map_->cell(finest_[i]);
    }

    // Stretch by stretch, cell by cell in stretches with an edge, and then value by value.
    void find_edges(const Column& column, double total, const CutTarget& out) {
        const std::size_t n_edges = out.n_bins - 1;
        std::size_t edge = 0;
        double goal = edge_goal(edge, total, out.n_bins);
        double before = 0.0;
        for (std::size_t k = 0; k < stretches_.size() && edge < n_edges; ++k) {
            const double after = before + stretches_[k];
            if (after < goal || stretches_[k] == 0.0) {
                before = after;
                continue;
            }
            std::size_t end = std::min((k + 1) * kStretch, cells_.size());
            while (cells_[end - 1] == 0.0) --end;
            double reached = before;
            for (std::size_t m = k * kStretch; m < end && edge < n_edges; ++m) {
                if (cells_[m] == 0.0) continue;
                // the last edge includes everything, despite rounding
                const double cell_end = m + 1 == end ? after : reached + cells_[m];
                if (cell_end >= goal) {
                    gather(column, m);
                    for (std::size_t i = 0; i < members_.size() && edge < n_edges;) {
                        const double value = members_[i].value;
                        // equal values stay in one bin
                        for (; i < members_.size() && members_[i].value == value; ++i)
                            reached += members_[i].weight;
                        if (i == members_.size()) reached = cell_end;
                        for (; edge < n_edges && reached >= goal;
                             goal = edge_goal(edge, total, out.n_bins))
                            out.edges[edge++] = value + 0.0;  // -0 becomes 0
                    }
                }
                reached = cell_end;
            }
            before = after;
        }
    }

    // The values of cell m, sorted.
    void gather(const Column& column, std::size_t m) {
        members_.clear();
        const auto cell = static_cast<std::uint16_t>(m);
        // the mini-bins of a cell are adjacent
        const auto [first, last] = std::equal_range(place_.begin(), place_.end(), cell);
        for (auto at = first; at != last; ++at) {
            const auto k = static_cast<std::size_t>(at - place_.begin());
            members_.push_back({column.summary.values[k], totals_[k]});
        }
        if (m > 0 && m <= map_->size()) {
            double weight = 0.0;
            for (std::size_t c = 0; c < column.counted->n_classes(); ++c)
                weight += column.counted->sum(c, m, m + 1);
            if (weight > 0.0) members_.push_back({map_->upper(m), weight * column.factor});
        }
        std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
            return std::tie(a.value, a.weight) < std::tie(b.value, b.weight);
        });
    }

    // The bin of a value is the number of edges strictly below it.
    void fill_bins(const Column& column, const CutTarget& out) const {
        const std::size_t n_classes = column.n_classes();
        const std::span<const double> edges(out.edges, out.n_bins - 1);
        const Summary& summary = column.summary;
        std::size_t bin = 0;
        for (std::size_t i = 0; i < summary.size(); ++i) {
            while (bin < edges.size() && edges[bin] < summary.values[i]) ++bin;
            double* into = out.bins + bin * n_classes;
            for (std::size_t c = 0; c < n_classes; ++c)
                into[out.class_place[c]] += summary.of(i)[c];
        }
        fill_bins(*column.counted, column.factor, edges, out, n_classes);
    }

    // A cell counts as its upper end.
    static void fill_bins(const CountedCells& counted, double factor, std::span<const double> edges,
                          const CutTarget& out, std::size_t n_classes) {
        const CellMap& map = counted.map();
        std::size_t begin = 1;
        for (std::size_t bin = 0; bin <= edges.size(); ++bin) {
            const std::size_t end =
                bin < edges.size() ? map.cells_up_to(edges[bin], begin) : map.size() + 1;
            for (std::size_t c = 0; c < counted.n_classes(); ++c)
                out.bins[bin * n_classes + out.class_place[c]] +=
                    counted.sum(c, begin, end) * factor;
            begin = end;
        }
    }
};

}  // namespace driftsieve
