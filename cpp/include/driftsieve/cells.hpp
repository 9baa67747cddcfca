#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Equal cells over the bulk of some values: counting into cells takes the place of sorting.
//
// The width is a power of two and the grid starts at a multiple of it, so every step of index() is
// exact: cell m holds just the values with upper(m - 1) < value <= upper(m). Index 0 holds what
// lies below the grid, cells are 1 to size(), index size() + 1 holds what lies above.
class CellGrid {
  public:
    // A grid of at most `most_cells` over the middle of a sample of the values; none (size 0) if
    // the values do not spread or spread beyond what doubles can scale.
    static CellGrid over(std::span<const double> values, std::size_t most_cells) {
        constexpr std::size_t kSample = 64;
        constexpr double inf = std::numeric_limits<double>::infinity();
        const std::size_t n = std::min(kSample, values.size());
        double lowest = inf, low = inf, high = -inf, highest = -inf;
        for (std::size_t i = 0; i < n; ++i) {
            const double value = values[i * values.size() / n];
            low = std::min(low, std::max(lowest, value));
            lowest = std::min(lowest, value);
            high = std::max(high, std::min(highest, value));
            highest = std::max(highest, value);
        }
        // All but the outer two of the sample, and half as much again on both sides: about four
        // standard deviations of a bell, while the far tails of anything else stay out.
        const double margin = (high - low) / 2.0;
        const double range = (high - low) + 2.0 * margin;
        CellGrid grid;
        if (!(range > 0.0) || !(range < 1e300)) return grid;
        const int exponent = std::ilogb(range / static_cast<double>(most_cells - 1)) + 1;
        if (exponent < -1000) return grid;
        grid.per_width_ = std::ldexp(1.0, -exponent);
        grid.width_ = std::ldexp(1.0, exponent);
        grid.base_ = std::floor((low - margin) * grid.per_width_);
        const double last = std::floor((high + margin) * grid.per_width_);
        // beyond 2^52 neighbouring doubles are further apart than the cells
        if (!(std::max(std::abs(grid.base_), std::abs(last)) < 0x1p52)) return grid;
        grid.size_ = static_cast<std::size_t>(last - grid.base_) + 1;
        return grid;
    }

    std::size_t size() const { return size_; }

    std::size_t index(double value) const {
        std::uint16_t out;
        indices(&value, 1, &out);
        return out;
    }

    void indices(const double* values, std::size_t n, std::uint16_t* out) const {
        kernels().cell_indices(values, n, per_width_, base_ - 1.0, static_cast<double>(size_) + 1.0,
                               out);
    }

    // The largest double in cell `index`: the one before the beginning of the next cell.
    double upper(std::size_t index) const {
        const double end = (base_ + static_cast<double>(index)) * width_;
        const auto bits = std::bit_cast<std::uint64_t>(end);
        if (end > 0.0) return std::bit_cast<double>(bits - 1);
        if (end < 0.0) return std::bit_cast<double>(bits + 1);
        // In wide cells what is nearer to 0 than this has index() of 0: its product underflows.
        constexpr double tiny = std::numeric_limits<double>::denorm_min();
        return -std::nextafter(tiny * (width_ / 2.0), 1.0);
    }

  private:
    double per_width_ = 0.0;
    double width_ = 0.0;
    double base_ = 0.0;
    std::size_t size_ = 0;
};

}  // namespace driftsieve
