#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/memory/large_room.hpp"
#include "driftsieve/quantiles/cells.hpp"

namespace driftsieve {

// Values of one feature in a block, class by class, with the cells they lie in.
struct LadderColumn {
    const BlockColumn& column;      // its weights are not used
    const double* weights;          // by position, at each half-life
    std::span<const double> total;  // their total weight
    const CellMap& map;
    const std::uint32_t* finest;  // the finest cell of each value
};

// The weights of the values of a block in their cells, class after class, at all half-lives: see
// LadderKernels. A buffer, which is empty between two blocks.
class LadderCounts {
  public:
    explicit LadderCounts(std::size_t rungs) : rungs_(rungs) {}

    void count(const LadderColumn& values) {
        const BlockColumn& column = values.column;
        const std::size_t n_cells = values.map.size() + 2;
        const std::size_t of_class = LadderKernels::room_of(n_cells, rungs_);
        make_room(n_cells, column.n_classes());
        index_.resize(column.size());
        const Kernels::Cuts cuts = values.map.cuts();
        for (std::size_t c = 0; c < column.n_classes(); ++c) {
            const std::size_t first = column.begin[c];
            kernels().ladder->weigh_cells(
                rungs_, values.finest + first, values.weights + first * rungs_,
                column.begin[c + 1] - first, {cuts.cut, cuts.bits}, index_.data() + first,
                cells_.data() + c * of_class, n_cells);
        }
    }
    void make_room(std::size_t n_cells, std::size_t n_classes) {
        const std::size_t n = LadderKernels::room_of(n_cells, rungs_) * n_classes;
        if (cells_.size() < n) cells_.assign(n, 0.0);
    }

    double* data() { return cells_.data(); }
    // The cell of value k.
    std::uint16_t index(std::size_t k) const { return index_[k]; }

  private:
    std::size_t rungs_;
    Room<std::uint16_t> index_;
    KeptRoom<double> cells_;
};

}  // namespace driftsieve
