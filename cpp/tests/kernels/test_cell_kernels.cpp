#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "paths.hpp"
#include "rows.hpp"

using driftsieve::Kernels;
using tests::lengths;
using tests::on_every_path;
using tests::same;
using tests::Source;
using tests::Unaligned;

TEST_CASE("count_cells and weigh_cells add each value to its cell") {
    on_every_path([](const Kernels& path) {
        Source source(3);
        for (const std::size_t n : lengths())
            for (const unsigned bits : {0U, 1U, 7U, 12U}) {
                const std::size_t kCoarse = n < 1000 ? 20 : bits < 7 ? 258 : 256 - bits;
                std::vector<std::uint32_t> cut;
                std::uint32_t next = 0;
                for (std::size_t c = 0; c < kCoarse; ++c) {
                    const unsigned most = n < 1000 || bits < 6 ? bits : 6;  // 16 bits number cells
                    const auto kept = static_cast<std::uint32_t>(source.below(most + 1));
                    cut.push_back(next | (bits - kept) << 16);
                    next += std::uint32_t{1} << kept;
                }
                Unaligned<std::uint32_t> finest(n % 3, n);
                for (std::size_t i = 0; i < n; ++i)
                    finest[i] = static_cast<std::uint32_t>(source.below(kCoarse << bits));
                Unaligned<double> weights(n % 2, n);
                for (std::size_t i = 0; i < n; ++i) weights[i] = source.uniform();
                Unaligned<std::uint16_t> index(n % 5, n);
                Unaligned<std::uint16_t> counts(1, next, 5);
                Unaligned<double> sums(1, next, 0.25);
                path.find_cells(finest.data(), n, {cut.data(), cut.size(), bits}, index.data());
                path.count_cells(index.data(), n, counts.data());
                const std::vector<double> ahead(n % 7 * 100);
                path.weigh_cells(index.data(), weights.data(), n, {ahead.data(), ahead.size()},
                                 sums.data());
                std::vector<std::uint16_t> expected_index;
                std::vector<std::uint16_t> expected_counts(next, 5);
                std::vector<double> expected_sums(next, 0.25);
                for (std::size_t i = 0; i < n; ++i) {
                    const std::uint32_t coarse = finest[i] >> bits;
                    const std::uint32_t inside = finest[i] - (coarse << bits);
                    const std::uint32_t cell =
                        (cut[coarse] & 0xffff) + (inside >> (cut[coarse] >> 16));
                    expected_index.push_back(static_cast<std::uint16_t>(cell));
                    ++expected_counts[cell];
                    expected_sums[cell] += weights[i];
                }
                CHECK(index.copy() == expected_index);
                CHECK(counts.copy() == expected_counts);
                CHECK(same(sums.copy(), expected_sums));
            }
    });
}

TEST_CASE("sum_cells and add_cells give the sum of the cells") {
    on_every_path([](const Kernels& path) {
        Source source(4);
        for (const std::size_t n : lengths())
            for (const std::size_t limit : {1, 2, 9, 40000, 65536}) {
                Unaligned<std::uint16_t> counts(n % 5, n);
                for (std::size_t i = 0; i < n; ++i)
                    counts[i] =
                        static_cast<std::uint16_t>(source.below(3) == 0 ? 0 : source.below(limit));
                const std::vector<std::uint16_t> all = counts.copy();
                CHECK(path.sum_cells(counts.data(), n) ==
                      std::accumulate(all.begin(), all.end(), std::uint64_t{0}));
                Unaligned<double> into(n % 2, n, 0.5);
                path.add_cells(counts.data(), n, into.data());
                for (std::size_t i = 0; i < n; ++i) CHECK(into[i] == all[i] + 0.5);
            }
    });
}

TEST_CASE("census and census_weights find the cells that are not empty and those above a limit") {
    on_every_path([](const Kernels& path) {
        Source source(14);
        for (const std::size_t n : lengths())
            for (const std::size_t n_classes : {1, 2, 3, 4})
                for (const std::size_t most : {0, 1, 30, 60, 16000}) {  // most are found, or none
                    const std::size_t stride = n + n % 3;  // there may be others between
                    Unaligned<std::uint16_t> counts(n % 5, n_classes * stride);
                    Unaligned<double> weights(n % 3, n_classes * stride);
                    for (std::size_t i = 0; i < counts.size(); ++i) {
                        counts[i] = static_cast<std::uint16_t>(
                            source.below(400) == 0 ? 16383
                                                   : source.below(3) / 2 * source.below(30));
                        weights[i] = counts[i] / 7.0;
                    }
                    const double heavy = static_cast<double>(most) / 7.0;
                    std::size_t used = 0;
                    std::vector<std::uint16_t> fuller, heavier;
                    double rest = 0.0, light_rest = 0.0;
                    for (std::size_t m = 0; m < n; ++m) {
                        std::size_t count = 0;
                        double weight = 0.0;
                        for (std::size_t c = 0; c < n_classes; ++c) {
                            count += counts[c * stride + m];
                            weight += weights[c * stride + m];
                        }
                        used += count != 0;
                        if (count > most)
                            fuller.push_back(static_cast<std::uint16_t>(m));
                        else
                            rest = std::max(rest, static_cast<double>(count));
                        if (weight > heavy)
                            heavier.push_back(static_cast<std::uint16_t>(m));
                        else
                            light_rest = std::max(light_rest, weight);
                    }
                    Unaligned<std::uint16_t> out(n % 2, n);
                    const Kernels::Census found =
                        path.census(counts.data(), n_classes, stride, n,
                                    static_cast<std::uint16_t>(most), out.data());
                    CHECK(found.used == used);
                    CHECK(found.rest == rest);
                    CHECK(std::vector(out.data(), out.data() + found.found) == fuller);
                    const Kernels::Census weighed = path.census_weights(
                        weights.data(), n_classes, stride, n, heavy, out.data());
                    CHECK(weighed.used == used);
                    CHECK(weighed.rest == light_rest);
                    CHECK(std::vector(out.data(), out.data() + weighed.found) == heavier);
                }
    });
}

TEST_CASE("sum_weights_below gives the sum of the cells before each cell") {
    std::vector<std::vector<double>> sums_of_baseline;
    on_every_path([&](const Kernels& path) {
        Source source(5);
        std::size_t run = 0;
        for (const std::size_t n : lengths())
            for (const auto weights : {tests::Weights::real, tests::Weights::all_orders}) {
                Unaligned<double> cells(n % 3, n);
                for (std::size_t i = 0; i < n; ++i)
                    cells[i] = source.below(3) == 0 ? 0.0 : source.weight(weights);

                Unaligned<double> sums(n % 2, n + 1, 9.0);
                path.sum_weights_below(cells.data(), n, sums.data());
                long double truth = 0.0L;
                bool right = sums[0] == 0.0;
                for (std::size_t i = 0; i < n; ++i) {
                    truth += cells[i];
                    right = right && std::abs(sums[i + 1] - truth) <= 1e-14L * truth;
                    // sums never fall, and stay the same where a cell is empty
                    right = right && sums[i + 1] >= sums[i] &&
                            (cells[i] != 0.0 || sums[i + 1] == sums[i]);
                }
                CHECK(right);
                if (run == sums_of_baseline.size()) sums_of_baseline.push_back(sums.copy());
                CHECK(same(sums.copy(), sums_of_baseline[run++]));
            }
    });
}
