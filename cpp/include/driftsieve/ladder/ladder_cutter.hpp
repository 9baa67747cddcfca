#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "driftsieve/ladder/ladder_cells.hpp"
#include "driftsieve/ladder/ladder_counts.hpp"
#include "driftsieve/ladder/ladder_list.hpp"
#include "driftsieve/quantiles/cut_bins.hpp"
#include "driftsieve/quantiles/edge_goal.hpp"

namespace driftsieve {

// Quantile bins of a feature at all half-lives.
struct LadderBins {
    std::size_t n_bins = 0;
    std::size_t n_classes = 0;
    std::vector<double> edges;   // NaN at a half-life without weight
    std::vector<double> bins;    // bin after bin, class after class
    std::vector<double> hidden;  // at each half-life, the largest error of ranks

    void clear(std::size_t rungs, std::size_t bins_wanted, std::size_t classes) {
        n_bins = bins_wanted;
        n_classes = classes;
        edges.assign(rungs * (n_bins - 1), std::numeric_limits<double>::quiet_NaN());
        bins.assign(rungs * n_bins * n_classes, 0.0);
        hidden.assign(rungs, 0.0);
    }
    // The bins at one half-life.
    CutBins at(std::size_t rung) const {
        const std::size_t n_edges = n_bins - 1;
        const std::size_t n_cells = n_bins * n_classes;
        return {{edges.data() + rung * n_edges, n_edges},
                {bins.data() + rung * n_cells, n_cells},
                std::isnan(edges[rung * n_edges]) ? 0.0 : hidden[rung]};
    }
};

// Cuts features into quantile bins at all half-lives in one pass. The bins of a list have the same
// bits as those of BinCutter at each half-life.
class LadderCutter {
  public:
    LadderCutter(std::size_t rungs, std::size_t n_bins)
        : rungs_(rungs), n_bins_(n_bins), counts_(rungs) {}

    void cut(const LadderList& list, LadderBins& out) const {
        out.clear(rungs_, n_bins_, list.n_classes());
        if (list.empty()) return;
        list.largest_hidden(out.hidden);
        kernels().ladder->cut(rungs_, {out.n_classes, list.values(), list.weights(), list.size(),
                                       n_bins_, out.edges.data(), out.bins.data()});
    }

    // Cuts a list, the cells beside it and, if there are any, the values of a last block in the
    // same cells. As BinCutter does, it sorts only what lies in a cell with an edge.
    void cut(const LadderList& list, const LadderCells& cells, const LadderColumn* values,
             std::size_t n_classes, LadderBins& out) {
        out.clear(rungs_, n_bins_, n_classes);
        counts_.make_room(cells.n_cells(), n_classes);
        if (values != nullptr) counts_.count(*values);
        place(list, cells.map());
        const LadderKernels::Cells all{n_classes, cells.n_cells(), counts_.data()};
        double total[kMostRungs];
        double fullest[kMostRungs];
        kernels().ladder->add_up(rungs_, cells.data(), cells.n_classes(), all, total, fullest);
        found_.resize(rungs_ * (n_bins_ - 1));
        lines_.resize(found_.size() * n_classes);
        rest_.resize(rungs_ * n_classes);
        found_.resize(kernels().ladder->find_edges(rungs_, all, total, n_bins_, found_.data(),
                                                   lines_.data(), rest_.data()));
        find_values(values, cells.n_cells());
        open_.assign(rungs_ * n_classes, 0.0);
        edge_.assign(rungs_, 0);
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (i == 0 || found_[i].cell != found_[i - 1].cell)
                gather(list, cells, values, found_[i].cell);
            find_edges(found_[i], lines_.data() + i * n_classes, total, out);
        }
        list.largest_hidden(out.hidden);
        for (std::size_t r = 0; r < rungs_; ++r) {
            out.hidden[r] += fullest[r];
            if (total[r] == 0.0) continue;
            for (std::size_t c = 0; c < n_classes; ++c)
                open_[r * n_classes + c] += rest_[c * rungs_ + r];
            close_bin(r, out);
        }
    }

  private:
    // A value, a mini-bin or a cell: one weight at each half-life, of one class or of several.
    struct Member {
        double value;
        const double* weights;
        std::size_t first_class;
        std::size_t n_classes;
    };

    std::size_t rungs_;
    std::size_t n_bins_;
    LadderCounts counts_;
    Room<std::uint32_t> finest_;
    std::vector<std::uint16_t> place_;  // cells of the mini-bins
    std::vector<LadderKernels::EdgeCell> found_;
    Room<double> lines_;
    Room<double> rest_;
    std::vector<std::uint8_t> wanted_;  // by cell
    std::vector<std::uint32_t> values_found_;
    std::vector<Member> members_;
    std::vector<double> of_cell_;
    std::vector<double> open_;       // by half-life and class: the bin that has no upper edge yet
    std::vector<std::size_t> edge_;  // by half-life: that edge

    // Adds the mini-bins to the cells they lie in.
    void place(const LadderList& list, const CellMap& map) {
        finest_.resize(list.size());
        place_.resize(list.size());
        kernels().finest_cells(list.values(), list.size(), map.rule(), finest_.data());
        const std::size_t n_cells = map.size() + 2;
        const std::size_t of_class = LadderKernels::room_of(n_cells, rungs_);
        const double* line = list.weights();
        for (std::size_t i = 0; i < list.size(); ++i) {
            place_[i] = map.cell(finest_[i]);
            for (std::size_t c = 0; c < list.n_classes(); ++c, line += rungs_)
                for (std::size_t r = 0; r < rungs_; ++r)
                    counts_.data()[c * of_class + LadderKernels::place_of(place_[i], r, n_cells,
                                                                          rungs_)] += line[r];
        }
    }

    // Finds the values in all cells with edges.
    void find_values(const LadderColumn* values, std::size_t n_cells) {
        values_found_.clear();
        if (values == nullptr) return;
        wanted_.assign(n_cells, 0);
        for (const LadderKernels::EdgeCell& found : found_) wanted_[found.cell] = 1;
        values_found_.resize(values->column.size() + 1);
        std::size_t n_found = 0;
        for (std::uint32_t k = 0; k < values->column.size();
             ++k) {  // a branch would be mispredicted
            values_found_[n_found] = k;
            n_found += wanted_[counts_.index(k)];
        }
        values_found_.resize(n_found);
        std::stable_sort(values_found_.begin(), values_found_.end(),
                         [&](auto a, auto b) { return counts_.index(a) < counts_.index(b); });
    }

    // All that lies in a cell, by value.
    void gather(const LadderList& list, const LadderCells& cells, const LadderColumn* values,
                std::size_t m) {
        members_.clear();
        const auto [first, last] = std::equal_range(place_.begin(), place_.end(), m);
        for (auto at = first; at != last; ++at) {
            const auto i = static_cast<std::size_t>(at - place_.begin());
            members_.push_back({list.values()[i], list.weights() + i * list.n_classes() * rungs_, 0,
                                list.n_classes()});
        }
        if (values != nullptr) {
            const auto begin =
                std::partition_point(values_found_.begin(), values_found_.end(),
                                     [&](std::uint32_t k) { return counts_.index(k) < m; });
            std::size_t cls = 0;
            for (auto at = begin; at != values_found_.end() && counts_.index(*at) == m; ++at) {
                while (*at >= values->column.begin[cls + 1]) ++cls;
                members_.push_back(
                    {values->column.value(*at), values->weights + *at * rungs_, cls, 1});
            }
        }
        if (m > 0 && m + 1 < cells.n_cells()) {
            of_cell_.resize(cells.n_classes() * rungs_);
            cells.get(m, of_cell_.data());
            if (std::any_of(of_cell_.begin(), of_cell_.end(), [](double w) { return w > 0.0; }))
                members_.push_back({cells.map().upper(m), of_cell_.data(), 0, cells.n_classes()});
        }
        std::stable_sort(members_.begin(), members_.end(),
                         [](const Member& a, const Member& b) { return a.value < b.value; });
    }

    // Finds the edges at one half-life among the members.
    void find_edges(const LadderKernels::EdgeCell& cell, const double* before, const double* total,
                    LadderBins& out) {
        const std::size_t r = cell.rung;
        const std::size_t n_classes = out.n_classes;
        double* open = open_.data() + r * n_classes;
        for (std::size_t c = 0; c < n_classes; ++c) open[c] += before[c];
        double reached = cell.before;
        double goal = edge_goal(edge_[r], total[r], n_bins_);
        for (std::size_t i = 0; i < members_.size();) {
            const double value = members_[i].value;
            for (; i < members_.size() && members_[i].value == value; ++i)
                for (std::size_t c = 0; c < members_[i].n_classes; ++c) {
                    const double weight = members_[i].weights[c * rungs_ + r];
                    open[members_[i].first_class + c] += weight;
                    reached += weight;
                }
            if (i == members_.size()) reached = cell.after;
            if (edge_[r] + 1 == n_bins_ || reached < goal) continue;
            close_bin(r, out);
            for (; edge_[r] + 1 < n_bins_ && reached >= goal;
                 goal = edge_goal(edge_[r], total[r], n_bins_))
                out.edges[r * (n_bins_ - 1) + edge_[r]++] = value + 0.0;  // -0 becomes 0
        }
    }

    void close_bin(std::size_t r, LadderBins& out) {
        double* open = open_.data() + r * out.n_classes;
        std::copy_n(open, out.n_classes,
                    out.bins.data() + (r * n_bins_ + edge_[r]) * out.n_classes);
        std::fill_n(open, out.n_classes, 0.0);
    }
};

}  // namespace driftsieve
