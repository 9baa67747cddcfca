#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "paths.hpp"
#include "rows.hpp"

using driftsieve::Kernels;
using tests::any_value;
using tests::lengths;
using tests::on_every_path;
using tests::same;
using tests::Source;
using tests::Unaligned;

namespace {

constexpr std::size_t kStrip = Kernels::kStrip;
constexpr std::size_t kPivots = Kernels::kPivots;

// Keys of kStrip columns: anywhere, or crowded.
Unaligned<std::int16_t> any_keys(Source& source, std::size_t n) {
    Unaligned<std::int16_t> keys(n % 5, n * kStrip);
    const std::size_t many = std::size_t{1} << (1 + source.below(15));
    const std::size_t first = source.below(0x8000 - many + 1);
    for (std::size_t i = 0; i < keys.size(); ++i)
        keys[i] = static_cast<std::int16_t>(first + source.below(many));
    return keys;
}

}  // namespace

TEST_CASE("copy_rows") {
    on_every_path([](const Kernels& path) {
        Source source(11);
        for (const std::size_t n : lengths()) {
            const std::size_t stride = kStrip + source.below(5);
            Unaligned<double> matrix(n % 5, (n + 2) * stride);
            for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = any_value(source, true);
            std::vector<std::uint32_t> order(n);
            for (std::uint32_t& row : order) row = static_cast<std::uint32_t>(source.below(n + 2));
            Unaligned<double> shifts(1, kStrip), out(n % 2, n * kStrip);
            Kernels::StripSums sums;
            Kernels::StripRange range;
            for (std::size_t j = 0; j < kStrip; ++j) {
                shifts[j] = any_value(source, false);
                range.low[j] = any_value(source, false);
                range.high[j] = range.low[j] + source.uniform();
            }
            Kernels::StripRange expected = range;
            path.copy_rows(
                {matrix.data(), static_cast<std::ptrdiff_t>(stride), order.data(), nullptr, n},
                shifts.data(), out.data(), sums, range);
            for (std::size_t j = 0; j < kStrip; ++j) {
                double sum = 0.0, squares = 0.0;
                bool copied = true;
                for (std::size_t k = 0; k < n; ++k) {
                    const double value = matrix[order[k] * stride + j];
                    copied = copied && same(out[k * kStrip + j], value);
                    sum += value - shifts[j];
                    squares += (value - shifts[j]) * (value - shifts[j]);
                    if (value < expected.low[j]) expected.low[j] = value;
                    if (value > expected.high[j]) expected.high[j] = value;
                }
                CHECK(copied);
                CHECK(same(sums.sum[j], sum));
                CHECK(same(sums.squares[j], squares));
                CHECK(range.low[j] == expected.low[j]);
                CHECK(range.high[j] == expected.high[j]);
            }
        }
    });
}

TEST_CASE("find_keys") {
    on_every_path([](const Kernels& path) {
        Source source(12);
        for (const std::size_t n : lengths()) {
            Kernels::KeyRule rule;
            for (std::size_t j = 0; j < kStrip; ++j) {
                rule.low[j] = source.bell();
                rule.per_key[j] = j % 5 == 0 ? 0.0 : Kernels::kTopKey / (1.0 + source.uniform());
            }
            Unaligned<double> rows(n % 3, n * kStrip);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const std::size_t j = i % kStrip;
                // column 0 has one key for all values, whatever they are
                rows[i] = j == 0                  ? any_value(source, true)
                          : source.below(10) == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : source.below(10) == 0 ? rule.low[j]
                          : source.below(10) == 0 ? rule.low[j] + source.bell()
                          : source.below(10) == 0 ? any_value(source, false)
                                                  : rule.low[j] + source.uniform();
            }
            Unaligned<std::int16_t> keys(n % 5, n * kStrip, 99);
            path.find_keys(rows.data(), n, rule, keys.data());
            bool right = true;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const double key = (rows[i] - rule.low[i % kStrip]) * rule.per_key[i % kStrip];
                const int top = Kernels::kTopKey;
                const int expected = !(key > 0.0) ? 0 : key < top ? static_cast<int>(key) : top;
                right = right && keys[i] == expected;
            }
            CHECK(right);
        }
    });
}

TEST_CASE("halve_cells") {
    on_every_path([](const Kernels& path) {
        Source source(13);
        for (const std::size_t n : lengths()) {
            if (n == 0) continue;
            Unaligned<std::int16_t> keys = any_keys(source, n);
            Unaligned<std::int16_t> ranks(1, kPivots * kStrip);
            Kernels::KeyCells cells{};
            std::fill_n(cells.size, ranks.size(), static_cast<std::int16_t>(n));
            for (std::size_t at = 0; at < ranks.size(); ++at)
                ranks[at] = static_cast<std::int16_t>(1 + source.below(n));
            for (int width = 0x4000; width > 0; width /= 2) {
                path.halve_cells(keys.data(), n, ranks.data(), static_cast<std::int16_t>(width),
                                 cells);
                bool right = true;
                for (std::size_t at = 0; at < ranks.size(); ++at) {
                    int below = 0, size = 0;
                    for (std::size_t k = 0; k < n; ++k) {
                        const int from = keys[k * kStrip + at % kStrip] - cells.key[at];
                        below += from < 0;
                        size += from >= 0 && from < width;
                    }
                    right = right && cells.key[at] % width == 0 && cells.below[at] == below &&
                            cells.size[at] == size && below < ranks[at] &&
                            ranks[at] <= below + size;
                }
                CHECK(right);
            }
        }
    });
}

TEST_CASE("find_in_cells") {
    on_every_path([](const Kernels& path) {
        Source source(14);
        for (const std::size_t n : lengths())
            for (const int width : {1, 4, 1024, 0x4000}) {
                Unaligned<std::int16_t> keys = any_keys(source, n);
                Unaligned<std::int16_t> cells(1, kPivots * kStrip);
                for (std::size_t at = 0; at < cells.size(); ++at) {
                    const std::size_t k = n == 0 ? 0 : source.below(n);
                    const int key = n == 0 ? 0 : keys[k * kStrip + at % kStrip];
                    // -1: none
                    cells[at] =
                        static_cast<std::int16_t>(source.below(4) == 0 ? -1 : key / width * width);
                }
                Unaligned<std::uint32_t> places(n % 3, n * kStrip);
                const std::size_t found = path.find_in_cells(
                    keys.data(), n, cells.data(), static_cast<std::int16_t>(width), places.data());
                std::vector<std::uint32_t> expected;
                for (std::uint32_t i = 0; i < keys.size(); ++i) {
                    bool in_one = false;
                    for (std::size_t at = i % kStrip; at < cells.size(); at += kStrip)
                        in_one = in_one || (cells[at] >= 0 && keys[i] >= cells[at] &&
                                            keys[i] < cells[at] + width);
                    if (in_one) expected.push_back(i);
                }
                CHECK(std::vector<std::uint32_t>(places.data(), places.data() + found) == expected);
            }
    });
}

TEST_CASE("count_rows_above") {
    on_every_path([](const Kernels& path) {
        Source source(15);
        for (const std::size_t n : lengths()) {
            Unaligned<double> rows(n % 3, n * kStrip), edges(1, kPivots * kStrip);
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = any_value(source, true);
            for (std::size_t at = 0; at < edges.size(); ++at)
                edges[at] = n == 0 || source.below(4) == 0
                                ? any_value(source, false)
                                : rows[source.below(n) * kStrip + at % kStrip];
            Unaligned<std::int16_t> counts(n % 2, edges.size(), 7);
            path.count_rows_above(rows.data(), n, edges.data(), counts.data());
            for (std::size_t at = 0; at < edges.size(); ++at) {
                int expected = 0;
                for (std::size_t k = 0; k < n; ++k)
                    expected += rows[k * kStrip + at % kStrip] > edges[at];
                CHECK(counts[at] == expected);
            }
        }
    });
}
