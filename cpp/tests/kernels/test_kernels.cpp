#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "paths.hpp"
#include "rows.hpp"

using driftsieve::Kernels;
using tests::any_value;
using tests::Kind;
using tests::lengths;
using tests::on_every_path;
using tests::paths;
using tests::same;
using tests::Source;
using tests::Unaligned;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kStrip = Kernels::kStrip;

Kernels::CellRule any_rule(Source& source) {
    const int exponent = static_cast<int>(source.below(3)) == 0
                             ? static_cast<int>(source.below(1800)) - 900
                             : static_cast<int>(source.below(20)) - 4;
    const double per_width = std::ldexp(1.0, exponent);
    return {
        per_width,
        std::floor((source.uniform() - 0.5) * std::ldexp(1.0, static_cast<int>(source.below(52)))),
        static_cast<double>(source.below(1 << 21))};
}

std::uint32_t plain_cell(double value, const Kernels::CellRule& rule) {
    const double cell = std::floor(value * rule.per_width) - rule.base;
    if (!(cell > 0.0)) return 0;
    return static_cast<std::uint32_t>(std::min(cell, rule.top));
}

}  // namespace

TEST_CASE("paths are found by name") {
    REQUIRE(driftsieve::kernels_named("baseline") != nullptr);
    CHECK(driftsieve::kernels_named("sse9") == nullptr);
    CHECK(driftsieve::kernels_named("") == nullptr);
    for (const Kernels* path : paths()) CHECK(driftsieve::kernels_named(path->name) == path);
}

TEST_CASE("finest_cells is floor(value * per_width) - base, limited to the grid") {
    on_every_path([](const Kernels& path) {
        Source source(1);
        for (const std::size_t n : lengths())
            for (int round = 0; round < 6; ++round) {
                const Kernels::CellRule rule = any_rule(source);
                Unaligned<double> values(n % 5, n);
                for (std::size_t i = 0; i < n; ++i) values[i] = any_value(source, true);
                Unaligned<std::uint32_t> out(n % 3, n, 7);
                path.finest_cells(values.data(), n, rule, out.data());
                std::vector<std::uint32_t> expected;
                for (std::size_t i = 0; i < n; ++i) expected.push_back(plain_cell(values[i], rule));
                CHECK(out.copy() == expected);
            }
    });
}

TEST_CASE("read_strip gives the cells and power sums of each column") {
    on_every_path([](const Kernels& path) {
        Source source(2);
        for (const std::size_t n : lengths())
            for (const bool weighted : {false, true}) {
                const std::size_t n_rows = n + 3;
                const std::size_t stride = kStrip + source.below(4);
                const std::size_t out_stride = n + source.below(3);
                const bool hostile = n % 2 == 0;
                Unaligned<double> matrix(n % 7, (n_rows - 1) * stride + kStrip);
                for (std::size_t i = 0; i < matrix.size(); ++i)
                    matrix[i] = hostile ? any_value(source, true) : source.bell();
                Unaligned<std::uint32_t> order(n % 3, n);
                for (std::size_t k = 0; k < n; ++k)
                    order[k] = static_cast<std::uint32_t>(source.below(n_rows));
                Unaligned<double> weights(n % 2, n);
                for (std::size_t k = 0; k < n; ++k) weights[k] = source.uniform();
                Kernels::CellRule rules[kStrip];
                double shifts[kStrip];
                for (std::size_t j = 0; j < kStrip; ++j) {
                    rules[j] = any_rule(source);
                    shifts[j] = hostile ? any_value(source, false) : source.bell();
                }
                Unaligned<std::uint32_t> out(n % 5, n == 0 ? 0 : (kStrip - 1) * out_stride + n, 7);
                const double* weights_or_null = weighted ? weights.data() : nullptr;
                const Kernels::StripSums sums =
                    path.read_strip({matrix.data(), static_cast<std::ptrdiff_t>(stride),
                                     order.data(), weights_or_null, n},
                                    rules, shifts, out.data(), out_stride);
                for (std::size_t j = 0; j < kStrip; ++j) {
                    double sum = 0.0;
                    double squares = 0.0;
                    bool cells_right = true;
                    for (std::size_t k = 0; k < n; ++k) {
                        const double value = matrix[order[k] * stride + j];
                        const double delta = value - shifts[j];
                        const double weighed = weighted ? weights[k] * delta : delta;
                        sum += weighed;
                        squares += weighed * delta;
                        cells_right =
                            cells_right && out[j * out_stride + k] == plain_cell(value, rules[j]);
                    }
                    CHECK(cells_right);
                    CHECK(same(sums.sum[j], sum));
                    CHECK(same(sums.squares[j], squares));
                }
            }
    });
}

TEST_CASE("find_any finds all wanted numbers, in order") {
    on_every_path([](const Kernels& path) {
        Source source(6);
        for (const std::size_t n : lengths())
            for (const std::size_t n_wanted : {0, 1, 2, 7, 16, 17, 100}) {
                // numbers of the whole range, some only one bit apart, whichever bit it is
                const auto number = [&] {
                    return static_cast<std::uint16_t>(
                        source.below(64) ^
                        (source.below(2) == 0 ? 0 : 1u << (6 + source.below(10))));
                };
                std::vector<std::uint16_t> wanted(n_wanted);
                for (std::uint16_t& m : wanted) m = number();
                std::vector<std::uint16_t> table(65536);
                for (const std::uint16_t m : wanted) table[m] = 1;
                Unaligned<std::uint16_t> numbers(n % 7, n);
                for (std::size_t i = 0; i < n; ++i) numbers[i] = number();
                Unaligned<std::uint32_t> out(n % 3, n + Kernels::kPastFound, 77);
                const std::size_t found = path.find_any(numbers.data(), n, wanted.data(), n_wanted,
                                                        table.data(), out.data());
                std::vector<std::uint32_t> expected;
                for (std::size_t i = 0; i < n; ++i)
                    if (table[numbers[i]] != 0) expected.push_back(static_cast<std::uint32_t>(i));
                CHECK(std::vector<std::uint32_t>(out.data(), out.data() + found) == expected);
            }
    });
}

TEST_CASE("find_others finds the values that differ from the expected one, in order") {
    on_every_path([](const Kernels& path) {
        Source source(16);
        for (const std::size_t n : lengths())
            for (std::size_t n_wanted = 0; n_wanted <= 8; ++n_wanted) {
                Unaligned<double> values(n % 5, n);
                Unaligned<std::uint16_t> numbers(n % 7, n);
                for (std::size_t i = 0; i < n; ++i) {
                    numbers[i] = static_cast<std::uint16_t>(source.below(12));
                    values[i] = source.below(3) == 0 ? any_value(source, true) : numbers[i] / 3.0;
                }
                Unaligned<std::uint16_t> wanted(1, n_wanted);
                Unaligned<double> expected(3, n_wanted);
                for (std::size_t k = 0; k < n_wanted; ++k) {
                    wanted[k] = static_cast<std::uint16_t>(k == 3 ? 65535 : 3 * k % 11);
                    expected[k] = k == 5 ? kNaN : wanted[k] / 3.0;
                }
                Unaligned<std::uint32_t> out(n % 3, n, 77);
                const std::size_t found =
                    path.find_others(values.data(), numbers.data(), n, wanted.data(),
                                     expected.data(), n_wanted, out.data());
                std::vector<std::uint32_t> plain;
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t k = 0; k < n_wanted; ++k)
                        if (numbers[i] == wanted[k] && values[i] != expected[k])
                            plain.push_back(static_cast<std::uint32_t>(i));
                CHECK(std::vector<std::uint32_t>(out.data(), out.data() + found) == plain);
            }
    });
}

TEST_CASE("are_multiples is true only if all values are multiples of the width") {
    on_every_path([](const Kernels& path) {
        Source source(17);
        for (const std::size_t n : lengths())
            for (const int exponent : {-1000, -30, -2, 0, 1, 40, 900}) {
                const double width = std::ldexp(1.0, exponent);
                Unaligned<double> values(n % 5, n);
                for (std::size_t i = 0; i < n; ++i)
                    values[i] = width * (static_cast<double>(source.below(1000)) - 500.0);
                CHECK(path.are_multiples(values.data(), n, width));
                if (n == 0) continue;
                const double tiny = std::numeric_limits<double>::denorm_min();
                for (const double other : {width * 1.5, width * -0.25, width * (1.0 + 0x1p-52),
                                           width * 1e9 + width / 4, tiny, kNaN}) {
                    const std::size_t at = source.below(n);
                    const double before = std::exchange(values[at], other);
                    CHECK_FALSE(path.are_multiples(values.data(), n, width));
                    values[at] = before;
                }
            }
    });
}

TEST_CASE("gather_strip transposes the rows of a strip") {
    on_every_path([](const Kernels& path) {
        Source source(7);
        for (const std::size_t n : lengths()) {
            const std::size_t stride = kStrip + source.below(5);
            const std::size_t n_rows = n + 2;
            Unaligned<double> matrix(n % 5, (n_rows - 1) * stride + kStrip);
            for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = any_value(source, true);
            Unaligned<std::uint32_t> order(n % 3, n);
            for (std::size_t k = 0; k < n; ++k)
                order[k] = static_cast<std::uint32_t>(source.below(n_rows));
            Unaligned<double> out(n % 2, kStrip * n, 7.0);
            path.gather_strip(matrix.data(), static_cast<std::ptrdiff_t>(stride), order.data(), n,
                              out.data());
            std::vector<double> expected;
            for (std::size_t j = 0; j < kStrip; ++j)
                for (std::size_t k = 0; k < n; ++k)
                    expected.push_back(matrix[order[k] * stride + j]);
            CHECK(same(out.copy(), expected));
        }
    });
}

TEST_CASE("power_sums and weighted_power_sums have the same bits on every path") {
    std::vector<Kernels::PowerSums> of_baseline;
    on_every_path([&](const Kernels& path) {
        Source source(8);
        std::size_t run = 0;
        for (const std::size_t n : lengths())
            for (const Kind kind : {Kind::bell, Kind::all_scales, Kind::offset, Kind::tiny}) {
                Unaligned<double> values(n % 5, n);
                Unaligned<double> weights(n % 3, n);
                for (std::size_t i = 0; i < n; ++i) {
                    values[i] = source.value(kind, 0);
                    weights[i] = source.weight(tests::Weights::all_orders);
                }
                const double shift = n == 0 ? 1.0 : values[0];
                for (const bool weighted : {false, true}) {
                    const Kernels::PowerSums found =
                        weighted ? path.weighted_power_sums(values.data(), weights.data(), n, shift)
                                 : path.power_sums(values.data(), n, shift);
                    long double weight = 0.0L, sum = 0.0L, size = 0.0L, squares = 0.0L;
                    for (std::size_t i = 0; i < n; ++i) {
                        const long double w = weighted ? weights[i] : 1.0;
                        const long double delta = static_cast<long double>(values[i]) - shift;
                        weight += w;
                        sum += w * delta;
                        size += w * std::abs(delta);
                        squares += w * delta * delta;
                    }
                    CHECK(std::abs(found.weight - weight) <= 1e-14L * weight);
                    // products of denormal numbers are rounded to one of those
                    const long double grain = static_cast<long double>(n) * 5e-324L;
                    CHECK(std::abs(found.sum - sum) <= 1e-14L * size + grain);
                    CHECK(std::abs(found.squares - squares) <= 1e-14L * squares + grain);
                    if (run == of_baseline.size()) of_baseline.push_back(found);
                    CHECK(same(found.weight, of_baseline[run].weight));
                    CHECK(same(found.sum, of_baseline[run].sum));
                    CHECK(same(found.squares, of_baseline[run].squares));
                    ++run;
                }
            }
    });
}

TEST_CASE("count_above counts the values above the edge") {
    on_every_path([](const Kernels& path) {
        Source source(9);
        for (const std::size_t n : lengths())
            for (int round = 0; round < 6; ++round) {
                Unaligned<double> values(n % 5, n);
                for (std::size_t i = 0; i < n; ++i) values[i] = any_value(source, true);
                const double edge = round == 0 || n == 0 ? 0.0 : values[source.below(n)];
                std::size_t expected = 0;
                for (std::size_t i = 0; i < n; ++i) expected += values[i] > edge ? 1 : 0;
                CHECK(path.count_above(values.data(), n, edge) == expected);
            }
    });
}

TEST_CASE("row_power_sums has the same bits on every path") {
    on_every_path([](const Kernels& path) {
        Source source(10);
        for (const std::size_t width : lengths())
            for (const std::size_t n : {0, 1, 9, 22})
                for (const bool weighted : {false, true}) {
                    const std::size_t stride = width + source.below(3);
                    Unaligned<double> matrix(width % 5, 12 * stride + width);
                    for (std::size_t i = 0; i < matrix.size(); ++i)
                        matrix[i] = any_value(source, true);
                    std::vector<std::uint32_t> order(n);
                    for (std::uint32_t& row : order)
                        row = static_cast<std::uint32_t>(source.below(13));
                    std::vector<double> weights(n);
                    for (double& weight : weights) weight = source.uniform();
                    Unaligned<double> shift(1, width), sum(2, width, 0.5), squares(3, width, 0.25);
                    for (std::size_t j = 0; j < width; ++j) shift[j] = any_value(source, false);
                    std::vector<double> expected_sum(width, 0.5), expected_squares(width, 0.25);
                    for (std::size_t j = 0; j < width; ++j) {
                        const auto part = [&](std::size_t k, bool square) {
                            const double delta = matrix[order[k] * stride + j] - shift[j];
                            return (weighted ? weights[k] : 1.0) * delta * (square ? delta : 1.0);
                        };
                        const auto add = [&](double& into, bool square) {
                            std::size_t k = 0;  // four rows at a time, in pairs
                            for (; k + 4 <= n; k += 4)
                                into += (part(k, square) + part(k + 1, square)) +
                                        (part(k + 2, square) + part(k + 3, square));
                            for (; k < n; ++k) into += part(k, square);
                        };
                        add(expected_sum[j], false);
                        add(expected_squares[j], true);
                    }
                    path.row_power_sums(matrix.data(), static_cast<std::ptrdiff_t>(stride),
                                        order.data(), weighted ? weights.data() : nullptr, n, width,
                                        shift.data(), sum.data(), squares.data());
                    CHECK(same(sum.copy(), expected_sum));
                    CHECK(same(squares.copy(), expected_squares));
                }
    });
}
