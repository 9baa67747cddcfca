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
constexpr std::size_t kCells = kPivots * kStrip;

// Keys of kStrip columns: anywhere, or crowded.
Unaligned<std::int8_t> any_keys(Source& source, std::size_t n) {
    Unaligned<std::int8_t> keys(n % 5, n * kStrip);
    const std::size_t many = std::size_t{1} << (1 + source.below(7));
    const std::size_t first = source.below(256 - many);
    for (std::size_t i = 0; i < keys.size(); ++i)
        keys[i] = static_cast<std::int8_t>(static_cast<int>(first + source.below(many)) - 127);
    return keys;
}

// More than a lane of a register can count, too.
std::vector<std::size_t> many_lengths() {
    std::vector<std::size_t> many = lengths();
    many.insert(many.end(), {509, 510, 511, 1021});
    return many;
}

}  // namespace

TEST_CASE("read_rows gives the sums and keys of each column") {
    on_every_path([](const Kernels& path) {
        Source source(11);
        for (const std::size_t n : lengths()) {
            const std::size_t stride = kStrip + source.below(5);
            Kernels::KeyRule rule;
            Unaligned<double> matrix(n % 5, (n + 2) * stride), shifts(1, kStrip);
            for (std::size_t j = 0; j < kStrip; ++j) {
                shifts[j] = any_value(source, false);
                rule.centre[j] = source.bell();
                rule.below[j] = j % 5 == 0 ? 0.0 : Kernels::kTopKey / (1.0 + source.uniform());
                rule.above[j] = j % 7 == 0 ? 0.0 : Kernels::kTopKey / (1.0 + source.uniform());
            }
            for (std::size_t i = 0; i < matrix.size(); ++i) {
                const std::size_t j = std::min(i % stride, kStrip - 1);
                matrix[i] = source.below(8) == 0   ? any_value(source, true)
                            : source.below(8) == 0 ? rule.centre[j]
                                                   : rule.centre[j] + source.bell();
            }
            std::vector<std::uint32_t> order(n);
            for (std::uint32_t& row : order) row = static_cast<std::uint32_t>(source.below(n + 2));
            Kernels::StripSums sums;
            Unaligned<std::int8_t> keys(n % 3, n * kStrip);
            path.read_rows(
                {matrix.data(), static_cast<std::ptrdiff_t>(stride), order.data(), nullptr, n},
                shifts.data(), rule, sums, keys.data());
            for (std::size_t j = 0; j < kStrip; ++j) {
                double sum = 0.0, squares = 0.0;
                bool right = true;
                for (std::size_t k = 0; k < n; ++k) {
                    const double value = matrix[order[k] * stride + j];
                    sum += value - shifts[j];
                    squares += (value - shifts[j]) * (value - shifts[j]);
                    const double from = value - rule.centre[j];
                    const double key = from * (from < 0.0 ? rule.below[j] : rule.above[j]);
                    const int top = Kernels::kTopKey;
                    const int expected = !(key > -top) ? -top
                                         : key < top   ? static_cast<int>(key)
                                                       : top;
                    right = right && keys[k * kStrip + j] == expected;
                }
                CHECK(right);
                CHECK(same(sums.sum[j], sum));
                CHECK(same(sums.squares[j], squares));
            }
        }
    });
}

TEST_CASE("halve_cells keeps the half with the wanted rank") {
    on_every_path([](const Kernels& path) {
        Source source(13);
        for (const std::size_t n : many_lengths()) {
            if (n == 0) continue;
            Unaligned<std::int8_t> keys = any_keys(source, n);
            Unaligned<std::int16_t> ranks(1, kCells);
            Kernels::KeyCells cells{};
            std::fill_n(cells.key, kCells, std::numeric_limits<std::int8_t>::min());
            std::fill_n(cells.size, kCells, static_cast<std::int16_t>(n));
            for (std::size_t at = 0; at < kCells; ++at)
                ranks[at] = static_cast<std::int16_t>(1 + source.below(n));
            for (int width = 128; width > 0; width /= 2) {
                path.halve_cells(keys.data(), n, ranks.data(), width, cells);
                bool right = true;
                for (std::size_t at = 0; at < kCells; ++at) {
                    int below = 0, size = 0;
                    for (std::size_t k = 0; k < n; ++k) {
                        const int from = keys[k * kStrip + at % kStrip] - cells.key[at];
                        below += from < 0;
                        size += from >= 0 && from < width;
                    }
                    right = right && (cells.key[at] + 128) % width == 0 &&
                            cells.below[at] == below && cells.size[at] == size &&
                            below < ranks[at] && ranks[at] <= below + size;
                }
                CHECK(right);
            }
        }
    });
}

TEST_CASE("count_keys_above counts the keys above each edge") {
    on_every_path([](const Kernels& path) {
        Source source(15);
        for (const std::size_t n : many_lengths()) {
            Unaligned<std::int8_t> keys = any_keys(source, n), edges(1, kCells);
            for (std::size_t at = 0; at < kCells; ++at)
                edges[at] =
                    n == 0 || source.below(4) == 0
                        ? static_cast<std::int8_t>(static_cast<int>(source.below(256)) - 128)
                        : keys[source.below(n) * kStrip + at % kStrip];
            Unaligned<std::int16_t> counts(n % 2, kCells, 7);
            path.count_keys_above(keys.data(), n, edges.data(), counts.data());
            for (std::size_t at = 0; at < kCells; ++at) {
                int expected = 0;
                for (std::size_t k = 0; k < n; ++k)
                    expected += keys[k * kStrip + at % kStrip] > edges[at];
                CHECK(counts[at] == expected);
            }
        }
    });
}

TEST_CASE("find_in_cells finds the positions of the wanted keys, in order") {
    on_every_path([](const Kernels& path) {
        Source source(14);
        for (const std::size_t n : lengths())
            for (int i = 0; i < 4; ++i) {
                Unaligned<std::int8_t> keys = any_keys(source, n), wanted(1, kCells);
                for (std::size_t at = 0; at < kCells; ++at)
                    wanted[at] = n == 0 || source.below(4) == 0
                                     ? Kernels::kNoKey
                                     : keys[source.below(n) * kStrip + at % kStrip];
                Unaligned<std::uint32_t> places(n % 3, n * kStrip + 4);
                const std::size_t found =
                    path.find_in_cells(keys.data(), n, wanted.data(), places.data());
                std::vector<std::uint32_t> expected;
                for (std::uint32_t place = 0; place < keys.size(); ++place) {
                    bool in_one = false;
                    for (std::size_t at = place % kStrip; at < kCells; at += kStrip)
                        in_one = in_one || keys[place] == wanted[at];
                    if (in_one) expected.push_back(place);
                }
                CHECK(std::vector<std::uint32_t>(places.data(), places.data() + found) == expected);
            }
    });
}

TEST_CASE("sort_slots sorts every list") {
    on_every_path([](const Kernels& path) {
        Source source(16);
        for (int i = 0; i < 50; ++i) {
            Unaligned<double> slots(1, Kernels::kSlots * kCells,
                                    std::numeric_limits<double>::infinity());
            std::vector<std::vector<double>> expected(kCells);
            for (std::size_t at = 0; at < kCells; ++at) {
                const std::size_t n = source.below(Kernels::kSlots + 1);
                for (std::size_t k = 0; k < n; ++k)
                    slots[k * kCells + at] = source.below(3) == 0
                                                 ? static_cast<double>(source.below(3))
                                                 : any_value(source, false);
                for (std::size_t k = 0; k < Kernels::kSlots; ++k)
                    expected[at].push_back(slots[k * kCells + at]);
                std::sort(expected[at].begin(), expected[at].end());
            }
            path.sort_slots(slots.data());
            bool right = true;
            for (std::size_t at = 0; at < kCells; ++at)
                for (std::size_t k = 0; k < Kernels::kSlots; ++k)
                    right = right && slots[k * kCells + at] == expected[at][k];
            CHECK(right);
        }
    });
}
