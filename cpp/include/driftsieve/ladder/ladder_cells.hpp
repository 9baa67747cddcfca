#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/require.hpp"
#include "driftsieve/ladder/ladder_kernels.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/memory/room.hpp"
#include "driftsieve/quantiles/cells.hpp"

namespace driftsieve {

// The cells that a feature counts into at all half-lives, block after block: see CountedCells.
class LadderCells {
  public:
    // The weight of which the cells may hide a share, at each half-life: that of the rows since
    // counting began, less that of later rows whose share the list had used before.
    std::vector<double> weight;

    explicit LadderCells(std::size_t rungs = 0) : weight(rungs) {}

    bool are_used() const { return n_classes_ > 0; }
    const CellMap& map() const { return map_; }
    std::size_t n_cells() const { return map_.size() + 2; }
    // See LadderKernels.
    double* data() { return cells_.data(); }
    const double* data() const { return cells_.data(); }
    std::size_t n_classes() const { return n_classes_; }

    // New cells, all of them empty.
    void begin(const CellMap& map, std::size_t n_classes) {
        map_ = map;
        n_classes_ = static_cast<std::uint32_t>(n_classes);
        cells_.assign(n_classes * room(), 0.0);
    }
    void end() {
        n_classes_ = 0;
        map_ = CellMap();
        cells_ = Room<double>();
    }
    void widen_classes(std::size_t n_classes) {
        n_classes_ = static_cast<std::uint32_t>(std::max<std::size_t>(n_classes, n_classes_));
        cells_.resize(n_classes_ * room(), 0.0);
    }
    // Sets the weights of a cell: class after class, each at all half-lives.
    void put(std::size_t m, const double* line) {
        for (std::size_t c = 0; c < n_classes_; ++c, line += rungs()) {
            std::copy_n(line, n_first(), cells_.data() + first(c, m));
            std::copy_n(line + n_first(), rungs() - n_first(), cells_.data() + second(c, m));
        }
    }
    // The other way round.
    void get(std::size_t m, double* line) const {
        for (std::size_t c = 0; c < n_classes_; ++c, line += rungs()) {
            std::copy_n(cells_.data() + first(c, m), n_first(), line);
            std::copy_n(cells_.data() + second(c, m), rungs() - n_first(), line + n_first());
        }
    }

    void scale(std::span<const double> factors) {
        for (std::size_t r = 0; r < rungs(); ++r) weight[r] *= factors[r];
        std::array<double, kFewClasses * kMostRungs> line;
        for (std::size_t m = 0; m < n_cells() && are_used(); ++m) {
            get(m, line.data());
            for (std::size_t k = 0; k < n_classes_ * rungs(); ++k) line[k] *= factors[k % rungs()];
            put(m, line.data());
        }
    }
    // Adds all numbers to those of cells with the same map.
    void add_to(double* cells) const {
        for (std::size_t k = 0; k < cells_.size(); ++k) cells[k] += cells_[k];
    }
    // Adds the weight of all classes together at each half-life.
    void add_weights(std::span<double> into) const {
        std::array<double, kFewClasses * kMostRungs> line;
        for (std::size_t m = 0; m < n_cells() && are_used(); ++m) {
            get(m, line.data());
            for (std::size_t k = 0; k < n_classes_ * rungs(); ++k) into[k % rungs()] += line[k];
        }
    }

    std::size_t nbytes() const { return (weight.capacity() + cells_.capacity()) * sizeof(double); }
    // Largest size if `cells` are requested of CellMap::fit().
    static constexpr std::size_t most_bytes(std::size_t cells, std::size_t n_classes,
                                            std::size_t rungs) {
        const std::size_t n_cells = 2 * cells + CellMap::kCoarse + 2;
        return sizeof(LadderCells) +
               (rungs + n_classes * LadderKernels::room_of(n_cells, rungs)) * sizeof(double);
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(weight, n_classes_, map_, cells_);
    }

    // Validates a deserialized state.
    void check(std::size_t n_classes, std::size_t rungs) const {
        require(weight.size() == rungs && n_classes_ <= n_classes);
        for (const double number : weight) require(std::isfinite(number));
        require((map_.size() > 0) == are_used() && cells_.size() == n_classes_ * room());
        for (const double number : cells_) require_weight(number);
        std::array<double, kFewClasses * kMostRungs> line;
        for (const std::size_t m : {std::size_t{0}, n_cells() - 1}) {  // outside
            get(m, line.data());
            require(std::all_of(line.begin(), line.begin() + n_classes_ * rungs,
                                [](double number) { return number == 0.0; }));
        }
        for (std::size_t c = 0; c < n_classes_; ++c)  // to fill cache lines
            for (std::size_t k = n_cells() * rungs; k < room(); ++k)
                require(cells_[c * room() + k] == 0.0);
    }

  private:
    CellMap map_;
    std::uint32_t n_classes_ = 0;
    Room<double> cells_;

    std::size_t rungs() const { return weight.size(); }
    std::size_t room() const { return LadderKernels::room_of(n_cells(), rungs()); }
    // The numbers of a cell are in two parts: those of half-lives that make whole cache lines, and
    // the others.
    std::size_t n_first() const { return rungs() / 8 * 8; }
    std::size_t first(std::size_t cls, std::size_t m) const { return cls * room() + m * n_first(); }
    std::size_t second(std::size_t cls, std::size_t m) const {
        return cls * room() + n_cells() * n_first() + m * (rungs() - n_first());
    }
};

}  // namespace driftsieve
