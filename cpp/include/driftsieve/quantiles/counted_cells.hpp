#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/quantiles/cells.hpp"
#include "driftsieve/quantiles/summary.hpp"

namespace driftsieve {

// The cells that a feature counts into, block after block. While new rows have values like those of
// earlier rows, counting is enough: a cell is a mini-bin that may hide all its weight, and its
// share of the rows stays about the same.
class CountedCells {
  public:
    // weight of the rows since counting began, including those that were taken out
    double weight = 0.0;
    double fullest = 0.0;  // weight of all classes in the fullest cell

    CountedCells() = default;
    template <class Cell>
    CountedCells(const CellMap& map, std::size_t n_classes, Room<Cell>&& cells)
        : map_(map), n_classes_(static_cast<std::uint32_t>(n_classes)) {
        room<Cell>() = std::move(cells);
    }

    const CellMap& map() const { return map_; }
    std::size_t n_classes() const { return n_classes_; }

    // The cells, class after class; empty if they hold numbers of another kind.
    template <class Cell>
    Room<Cell>& room() {
        if constexpr (std::is_same_v<Cell, double>)
            return wide_;
        else
            return narrow_;
    }

    // Releases spare capacity, which depends on the columns processed before.
    void shrink() {
        if (narrow_.capacity() > narrow_.size()) narrow_.shrink_to_fit();
        if (wide_.capacity() > wide_.size()) wide_.shrink_to_fit();
    }

    void scale(double factor) {
        weight *= factor;
        fullest *= factor;
        for (double& cell : wide_) cell *= factor;
    }

    // into[m] += weight of all classes in cell m, times `factor`.
    void add_to(double* into, double factor) const {
        const std::size_t n_cells = map_.size() + 2;
        for (std::size_t c = 0; c < n_classes_; ++c) {
            if (wide_.empty())  // whole weights do not fade
                kernels().add_cells(narrow_.data() + c * n_cells, n_cells, into);
            else
                for (std::size_t m = 0; m < n_cells; ++m)
                    into[m] += wide_[c * n_cells + m] * factor;
        }
    }

    // Weight of class c in cells [begin, end).
    double sum(std::size_t c, std::size_t begin, std::size_t end) const {
        const std::size_t first = c * (map_.size() + 2);
        if (wide_.empty())
            return static_cast<double>(
                kernels().sum_cells(narrow_.data() + first + begin, end - begin));
        return std::accumulate(wide_.begin() + static_cast<std::ptrdiff_t>(first + begin),
                               wide_.begin() + static_cast<std::ptrdiff_t>(first + end), 0.0);
    }

    // into[k] += weight of class c in cells [bounds[k], bounds[k + 1]), times `factor`.
    void add_ranges(std::size_t c, std::span<const std::uint32_t> bounds, double factor,
                    double* into) const {
        const auto add = [&](const auto* cells) {
            for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
                double sum = 0.0;
                for (std::size_t m = bounds[k]; m < bounds[k + 1]; ++m)
                    sum += static_cast<double>(cells[m]);
                into[k] += sum * factor;
            }
        };
        const std::size_t first = c * (map_.size() + 2);
        if (wide_.empty())
            add(narrow_.data() + first);
        else
            add(wide_.data() + first);
    }

    // Weight of class c in cell m.
    double at(std::size_t c, std::size_t m) const {
        const std::size_t place = c * (map_.size() + 2) + m;
        return wide_.empty() ? static_cast<double>(narrow_[place]) : wide_[place];
    }

    bool is_empty(std::size_t m) const {
        for (std::size_t c = 0; c < n_classes_; ++c)
            if (at(c, m) > 0.0) return false;
        return true;
    }

    // Weight in all cells.
    double held() const {
        double all = 0.0;
        for (std::size_t c = 0; c < n_classes_; ++c) all += sum(c, 0, map_.size() + 2);
        return all;
    }

    // As mini-bins.
    void load(std::size_t n_classes, Summary& out) const {
        if (wide_.empty())
            load(narrow_, n_classes, out);
        else
            load(wide_, n_classes, out);
    }

    std::size_t nbytes() const {
        return narrow_.capacity() * sizeof(std::uint16_t) + wide_.capacity() * sizeof(double);
    }

    // Largest size of the cells of a feature, if `cells` are requested of CellMap::fit().
    static constexpr std::size_t most_bytes(std::size_t cells, std::size_t n_classes,
                                            bool is_wide) {
        if (n_classes > kCountedClasses) return 0;
        const std::size_t number = is_wide ? sizeof(double) : sizeof(std::uint16_t);
        return sizeof(CountedCells) + number * n_classes * (2 * cells + CellMap::kCoarse + 2);
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(weight, fullest, map_, n_classes_, narrow_, wide_);
    }

    // Whether the parts fit together and `fullest` is correct.
    bool sound() const {
        const auto is_weight = [](double x) { return x >= 0.0 && std::isfinite(x); };
        if (map_.size() == 0 || !(narrow_.empty() || wide_.empty()) ||
            narrow_.size() + wide_.size() != n_classes_ * (map_.size() + 2) || !is_weight(weight) ||
            !is_weight(fullest) || !std::all_of(wide_.begin(), wide_.end(), is_weight))
            return false;
        std::vector<double> totals(map_.size() + 2, 0.0);
        add_to(totals.data(), 1.0);
        return totals.front() == 0.0 && totals.back() == 0.0 &&
               *std::max_element(totals.begin(), totals.end()) <=
                   fullest * (1.0 + 1e-12);  // rounding of a rebase
    }

  private:
    CellMap map_;
    std::uint32_t n_classes_ = 0;
    Room<std::uint16_t> narrow_;  // rows that weigh 1 and do not fade
    Room<double> wide_;

    template <class Cell>
    void load(const Room<Cell>& cells, std::size_t n_classes, Summary& out) const {
        const std::size_t n_cells = map_.size() + 2;
        out.reset(n_cells, n_classes);
        std::size_t size = 0;
        std::size_t coarse = 0;
        for (std::size_t m = 1; m <= map_.size(); ++m) {
            double total = 0.0;
            for (std::size_t c = 0; c < n_classes_; ++c)
                total += static_cast<double>(cells[c * n_cells + m]);
            if (total == 0.0) continue;
            out.values[size] = map_.upper(m, coarse);
            out.hidden[size] = total;
            double* into = out.of(size++);
            std::fill_n(into, n_classes, 0.0);
            for (std::size_t c = 0; c < n_classes_; ++c)
                into[c] = static_cast<double>(cells[c * n_cells + m]);
        }
        out.resize(size);
    }
};

}  // namespace driftsieve
