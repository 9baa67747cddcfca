#pragma once

#include <algorithm>
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
    // By half-life: the weight of which the cells may hide a share. That of the rows since counting
    // began, less that of rows which had been used for the budget of the list before.
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
        for (std::size_t c = 0; c < n_classes_; ++c)
            for (std::size_t r = 0; r < rungs(); ++r) cells_[place(c, m, r)] = *line++;
    }

    void scale(std::span<const double> factors) {
        for (std::size_t r = 0; r < rungs(); ++r) weight[r] *= factors[r];
        each([&](double& number, std::size_t r) { number *= factors[r]; });
    }
    // Adds the weight of all classes together at each half-life.
    void add_weights(std::span<double> into) const {
        const_cast<LadderCells*>(this)->each(
            [&](const double& number, std::size_t r) { into[r] += number; });
    }

    std::size_t nbytes() const {
        return (weight.capacity() + cells_.capacity()) * sizeof(double);
    }
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
        for (std::size_t c = 0; c < n_classes_; ++c) {
            double elsewhere = 0.0;  // outside of the cells
            for (std::size_t r = 0; r < rungs; ++r)
                elsewhere += cells_[place(c, 0, r)] + cells_[place(c, n_cells() - 1, r)];
            for (std::size_t k = n_cells() * rungs; k < room(); ++k)
                elsewhere += cells_[c * room() + k];
            require(elsewhere == 0.0);
        }
    }

  private:
    CellMap map_;
    std::uint32_t n_classes_ = 0;
    Room<double> cells_;

    std::size_t rungs() const { return weight.size(); }
    std::size_t room() const { return LadderKernels::room_of(n_cells(), rungs()); }
    std::size_t place(std::size_t cls, std::size_t m, std::size_t r) const {
        const std::size_t first = rungs() / 8 * 8;  // numbers in whole cache lines
        return cls * room() +
               (r < first ? m * first + r : n_cells() * first + m * (rungs() - first) + r - first);
    }
    template <class Use>
    void each(const Use& use) {
        for (std::size_t c = 0; c < n_classes_; ++c)
            for (std::size_t m = 0; m < n_cells(); ++m)
                for (std::size_t r = 0; r < rungs(); ++r) use(cells_[place(c, m, r)], r);
    }
};

}  // namespace driftsieve
