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

#include "driftsieve/base/config.hpp"
#include "driftsieve/kernels.hpp"

namespace driftsieve {

// Cells of about equal mass over some values: counting into cells replaces sorting.
//
// A grid of coarse cells covers the values. Each is divided into a power of two of fine cells, more
// for more of the sample in it, so a bell, a long tail and a far outlier are all spread evenly. All
// widths are powers of two and the grid starts at a multiple of the coarse width, so every step
// from a value to its cell is exact: cell m has exactly the values with upper(m - 1) < value <=
// upper(m). Cell 0 is below the grid, cells are 1 to size(), cell size() + 1 is above.
class CellMap {
  public:
    static constexpr std::size_t kMostCells = Config::kMostCells;
    static constexpr std::size_t kCoarse = 256;

    static constexpr std::size_t kSample = 1024;

    // About `cells` cells, between that number and twice as many, over a sample of at most kSample
    // values. Returns false if the values are all equal, or beyond the range of scaled doubles.
    bool fit(std::span<const double> sample, std::size_t cells, std::size_t most_coarse = kCoarse) {
        cells = std::min(cells, kMostCells);
        size_ = 0;
        rule_ = {};  // all in cell 0
        bits_ = 0;
        cut_[0] = 0;
        const double low = bound(sample, 1.0);
        const double high = bound(sample, -1.0);
        // The sample without its outermost values, and half as much again on both sides.
        const double margin = (high - low) / 2.0;
        const double range = (high - low) + 2.0 * margin;
        if (!(range > 0.0) || !(range < 1e300)) return false;
        const int coarse = std::ilogb(range / static_cast<double>(most_coarse - 1)) + 1;
        if (coarse < -900) return false;
        const double first = std::floor(std::ldexp(low - margin, -coarse));
        const double last = std::floor(std::ldexp(high + margin, -coarse));
        // beyond 2^52, adjacent doubles are further apart than the cells
        const double farthest = std::max(std::abs(first), std::abs(last)) + 2.0;
        if (!(farthest < 0x1p52)) return false;
        int bits = std::min<int>(kMostBits, 51 - std::ilogb(farthest));
        bits -= spare_bits(sample, std::ldexp(1.0, bits - coarse), bits);
        bits_ = static_cast<unsigned>(bits);
        const std::size_t n_coarse = static_cast<std::size_t>(last - first) + 1;
        width_ = std::ldexp(1.0, coarse - bits);
        // coarse cell 0 is below the grid
        rule_ = {1.0 / width_, std::ldexp(first - 1.0, bits),
                 static_cast<double>(((n_coarse + 2) << bits) - 1)};
        cut_coarse_cells(sample, n_coarse, cells);
        return true;
    }

    // How many of n values to fit to, and their distance: an eighth, but not too few.
    static std::size_t sample_size(std::size_t n) {
        return std::min(n, std::clamp(n / 8, kSample / 2, kSample));
    }
    static std::size_t sample_step(std::size_t n) {
        return std::max<std::size_t>(1, n / std::max<std::size_t>(1, sample_size(n)));
    }

    std::size_t size() const { return size_; }
    double width() const { return width_; }  // largest finest cell

    const Kernels::CellRule& rule() const { return rule_; }
    Kernels::Cuts cuts() const { return {cut_.data(), n_cut_, bits_}; }

    // The cell of a value whose finest cell is known.
    std::uint16_t cell(std::uint32_t finest) const {
        const std::uint32_t cut = cut_[finest >> bits_];
        const std::uint32_t inside = finest & ((std::uint32_t{1} << bits_) - 1);
        return static_cast<std::uint16_t>((cut & 0xffff) + (inside >> (cut >> 16)));
    }

    std::uint16_t index(double value) const {
        std::uint32_t finest;
        kernels().finest_cells(&value, 1, rule_, &finest);
        return cell(finest);
    }

    // The largest double in cell m, 1 to size(): the one before the next cell begins. `coarse` is
    // where the search for its coarse cell begins, 0 at first; it advances as m grows.
    double upper(std::size_t m, std::size_t& coarse) const {
        find_coarse(m, coarse);
        const std::size_t inside = m - (cut_[coarse] & 0xffff) + 1;
        const double end = (rule_.base + static_cast<double>((coarse << bits_) +
                                                             (inside << (cut_[coarse] >> 16)))) *
                           width_;
        const auto bits = std::bit_cast<std::uint64_t>(end);
        if (end > 0.0) return std::bit_cast<double>(bits - 1);
        if (end < 0.0) return std::bit_cast<double>(bits + 1);
        // In wide cells, values nearer to 0 than this have index() 0, because the product
        // underflows.
        constexpr double tiny = std::numeric_limits<double>::denorm_min();
        return -std::nextafter(tiny * (width_ / 2.0), 1.0);
    }
    double upper(std::size_t m) const {
        std::size_t coarse = coarse_of(m);
        return upper(m, coarse);
    }
    // The coarse cell of cell m, as a start for the function above.
    std::size_t coarse_of(std::size_t m) const {
        const auto begins_after = [](std::size_t place, std::uint32_t cut) {
            return place < (cut & 0xffff);
        };
        const auto first = cut_.begin();
        const auto last = first + static_cast<std::ptrdiff_t>(n_cut_);
        const auto after = std::upper_bound(first + 1, last, m, begins_after);
        return static_cast<std::size_t>(after - first) - 1;
    }

    // The first cell from `begin` on, which is 1 or more, whose upper end is above `value`: that of
    // the next double.
    std::size_t cells_up_to(double value, std::size_t begin) const {
        constexpr double inf = std::numeric_limits<double>::infinity();
        return std::clamp<std::size_t>(index(std::nextafter(value, inf)), begin, size_ + 1);
    }

    // The multiple of the finest width in cell m, 1 to size(); NaN if there are several. `coarse`
    // is as above.
    double only_multiple(std::size_t m, std::size_t& coarse) const {
        find_coarse(m, coarse);
        if (cut_[coarse] >> 16 != 0) return std::numeric_limits<double>::quiet_NaN();
        const std::size_t inside = m - (cut_[coarse] & 0xffff);
        return (rule_.base + static_cast<double>((coarse << bits_) + inside)) * width_;
    }

    // Stored as its grid and the number of halvings of each coarse cell; the rest follows.
    template <class Archive>
    void archive(Archive& ar) {
        double base = rule_.base;
        std::vector<std::uint8_t> halved;
        for (std::size_t j = 1; j + 1 < n_cut_; ++j)
            halved.push_back(static_cast<std::uint8_t>(bits_ - (cut_[j] >> 16)));
        ar(width_, base, bits_, halved);
        size_ = 0;
        const double coarse_width = std::ldexp(width_, static_cast<int>(std::min(bits_, 16u)));
        const bool sound = halved.size() <= kCoarse && bits_ <= kMostBits && width_ > 0x1p-920 &&
                           coarse_width < 0x1p1000 &&
                           std::ldexp(1.0, std::ilogb(width_)) == width_ &&
                           std::abs(base) < 0x1p52 &&
                           std::fmod(base, std::ldexp(1.0, static_cast<int>(bits_))) == 0.0;
        if (!sound) return;
        rule_ = {1.0 / width_, base, static_cast<double>(((halved.size() + 2) << bits_) - 1)};
        set_cuts(halved);
    }

  private:
    static constexpr unsigned kMostBits = 12;  // a coarse cell is divided into at most 2^12
    static constexpr std::size_t kLanes = 16;

    double width_ = 0.0;  // largest finest cell
    Kernels::CellRule rule_{};
    unsigned bits_ = 0;  // finest cells in a coarse one, as a power of two
    std::size_t size_ = 0;
    std::size_t n_cut_ = 0;
    std::array<std::uint32_t, kCoarse + 2> cut_;  // first cell, and bits to shift << 16

    void find_coarse(std::size_t m, std::size_t& coarse) const {
        while (coarse + 1 < n_cut_ && (cut_[coarse + 1] & 0xffff) <= m) ++coarse;
    }

    // If all of the sample are multiples of a power of two, such as whole numbers, narrower cells
    // would be empty: returns how much wider the finest can be, as a power of two, up to a coarse
    // cell.
    static int spare_bits(std::span<const double> sample, double per_width, int bits) {
        std::uint64_t all = std::uint64_t{1} << bits;
        for (const double value : sample) {
            const double steps = std::abs(value * per_width);
            if (!(steps < 0x1p53)) continue;
            const auto whole = static_cast<std::uint64_t>(steps);
            if (static_cast<double>(whole) != steps) return 0;
            all |= whole;
        }
        return std::countr_zero(all);
    }

    // The smallest values of kLanes parts of the sample, without the very smallest, so that a few
    // outliers do not stretch the grid. With a sign of -1, the same from the other end.
    static double bound(std::span<const double> sample, double sign) {
        constexpr double inf = std::numeric_limits<double>::infinity();
        std::array<double, kLanes> least;
        least.fill(inf);
        const auto take = [&](std::size_t lane, double value) {
            least[lane] = std::min(least[lane], sign * value);
        };
        std::size_t i = 0;
        for (; i + kLanes <= sample.size(); i += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, sample[i + lane]);
        for (std::size_t lane = 0; i < sample.size(); ++i, ++lane) take(lane, sample[i]);
        // sorted without branches, because positions cannot be predicted
        std::array<double, kSample / 256> smallest;
        smallest.fill(inf);
        for (double value : least)
            for (double& place : smallest) {
                const double larger = std::max(place, value);
                place = std::min(place, value);
                value = larger;
            }
        // one in 256, but at least one: a heavy tail is as long in a larger sample
        const std::size_t outliers = std::max<std::size_t>(2, (sample.size() + 128) / 256) - 1;
        return sign * smallest[outliers];
    }

    void cut_coarse_cells(std::span<const double> sample, std::size_t n_coarse, std::size_t cells) {
        std::array<std::uint16_t, kCoarse + 3> counts{};
        const double per_coarse = std::ldexp(rule_.per_width, -static_cast<int>(bits_));
        const double base = std::ldexp(rule_.base, -static_cast<int>(bits_));
        std::array<std::uint32_t, kSample> places;
        kernels().finest_cells(sample.data(), sample.size(),
                               {per_coarse, base, static_cast<double>(n_coarse + 1)},
                               places.data());
        for (std::size_t i = 0; i < sample.size(); ++i) ++counts[places[i]];
        std::array<std::uint8_t, kCoarse> halved;
        const double wanted = static_cast<double>(cells) / static_cast<double>(4 * sample.size());
        for (std::size_t j = 1; j <= n_coarse; ++j) {
            // smoothed with its neighbours, because the sample is small
            const int share = counts[j - 1] + 2 * counts[j] + counts[j + 1];
            const auto parts = static_cast<std::uint32_t>(share * wanted);
            halved[j - 1] = static_cast<std::uint8_t>(
                std::min<int>(static_cast<int>(bits_), std::bit_width(parts)));
        }
        set_cuts({halved.data(), n_coarse});
    }

    // Leaves size() at 0 if the cells would need too large numbers.
    void set_cuts(std::span<const std::uint8_t> halved) {
        std::size_t next = 1;
        cut_[0] = bits_ << 16;
        n_cut_ = halved.size() + 2;
        for (std::size_t j = 1; j <= halved.size(); ++j) {
            const unsigned bits = std::min<unsigned>(bits_, halved[j - 1]);
            cut_[j] = static_cast<std::uint32_t>(next) | ((bits_ - bits) << 16);
            next += std::size_t{1} << bits;
            if (next > 0xfffe) return;
        }
        cut_[halved.size() + 1] = static_cast<std::uint32_t>(next) | (bits_ << 16);
        size_ = next - 1;
    }
};

}  // namespace driftsieve
