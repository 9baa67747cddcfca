#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/summary.hpp"

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
        std::array<double, kSample> sample;
        const std::size_t n = std::min(kSample, values.size());
        for (std::size_t i = 0; i < n; ++i) sample[i] = values[i * values.size() / n];
        std::sort(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(n));
        CellGrid grid;
        // A quarter more on both sides of the middle 62 of 64: about three standard deviations of
        // a bell, and the far tails of anything else stay out.
        const double low = sample[n > 2 ? 1 : 0];
        const double high = sample[n > 2 ? n - 2 : n - 1];
        const double margin = (high - low) / 4.0;
        const double range = (high - low) + 2.0 * margin;
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
        std::uint32_t out;
        indices(&value, 1, &out);
        return out;
    }

    template <class Index>
    void indices(const double* values, std::size_t n, Index* out) const {
        const double shift = base_ - 1.0;
        const double top = static_cast<double>(size_) + 1.0;
        for (std::size_t i = 0; i < n; ++i) {
            // the floor first: subtracting first could round a value into the next cell
            double cell = std::floor(values[i] * per_width_) - shift;
            cell = cell > 0.0 ? cell : 0.0;
            cell = cell < top ? cell : top;
            out[i] = static_cast<Index>(static_cast<std::int32_t>(cell));
        }
    }

    // The largest double in cell `index` (1-based): no value of the next cell is as small.
    double upper(std::size_t index) const {
        const double end = (base_ + static_cast<double>(index)) * width_;
        return std::nextafter(end, -std::numeric_limits<double>::infinity());
    }

  private:
    double per_width_ = 0.0;
    double width_ = 0.0;
    double base_ = 0.0;
    std::size_t size_ = 0;
};

}  // namespace driftsieve
