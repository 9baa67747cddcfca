#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "driftsieve/base/moments.hpp"
#include "driftsieve/kernels.hpp"
#include "paths.hpp"
#include "rows.hpp"

using driftsieve::AddWeight;
using driftsieve::Kernels;
using driftsieve::Moments;
using driftsieve::SparseRow;
using tests::lengths;
using tests::on_every_path;
using tests::same;
using tests::Source;
using tests::Unaligned;

namespace {

template <class T>
T any_value(Source& source, std::size_t rare) {
    if (source.below(rare) != 0) return T{1};
    return static_cast<T>(tests::any_value(source, true));
}

// Rows of n values; there is no memory after the last one.
template <class T, class Index>
void check(const Kernels& path, std::size_t n, std::size_t stride, std::size_t squares_at,
           Source& source) {
    constexpr std::size_t n_rows = 3;
    constexpr std::size_t width = 50;
    Unaligned<T> values(source.below(3), n_rows * n);
    Unaligned<Index> columns(source.below(3), n_rows * n);
    const std::size_t rare = 1 + source.below(20);
    for (std::size_t k = 0; k < n_rows * n; ++k) {
        values[k] = any_value<T>(source, rare);
        columns[k] = static_cast<Index>(source.below(width));
    }
    std::vector<double> sums(width * stride, 0.5);
    std::vector<double> expected = sums;
    for (std::size_t i = 0; i < n_rows; ++i) {
        const double weight = source.uniform();
        std::vector<double> other_values;
        std::vector<std::uint32_t> other_columns;
        for (std::size_t k = 0; k < n; ++k) {
            const T value = values[i * n + k];
            if (value == T{0}) continue;
            const std::size_t at = static_cast<std::size_t>(columns[i * n + k]) * stride;
            expected[at + 1] += weight;
            if (squares_at != 1) expected[at + squares_at] += weight * weight;
            if (value == T{1}) continue;
            other_values.push_back(static_cast<double>(value));
            other_columns.push_back(static_cast<std::uint32_t>(columns[i * n + k]));
        }
        std::vector<double> found_values(n + Kernels::kPast, 99.0);
        std::vector<std::uint32_t> found_columns(n + Kernels::kPast, 99);
        const SparseRow<T, Index> row{values.data() + i * n, columns.data() + i * n, n,
                                      (n_rows - 1 - i) * n};
        const std::size_t n_found = std::get<AddWeight<T, Index>>(path.add_weight)(
            row, weight,
            {sums.data() + 1, squares_at == 1 ? nullptr : sums.data() + squares_at, stride, width},
            {found_values.data(), found_columns.data()});
        found_values.resize(n_found);
        found_columns.resize(n_found);
        CHECK(same(found_values, other_values));
        CHECK(found_columns == other_columns);
        CHECK(same(sums, expected));
    }
}

}  // namespace

TEST_CASE("add_weight refuses columns that do not ascend or do not exist") {
    constexpr std::size_t width = 200;
    const std::vector<double> values(width, 1.0);
    on_every_path([&](const Kernels& path) {
        const auto check = [&](auto index) {
            using Index = decltype(index);
            const auto refused = [&](const std::vector<Index>& columns, std::size_t count) {
                std::vector<double> sums(width * 2);
                std::vector<double> found_values(count + Kernels::kPast);
                std::vector<std::uint32_t> found_columns(count + Kernels::kPast);
                const SparseRow<double, Index> row{values.data(), columns.data(), count,
                                                   columns.size() - count, false};
                return std::get<AddWeight<double, Index>>(path.add_weight)(
                           row, 1.0, {sums.data(), nullptr, 2, width},
                           {found_values.data(), found_columns.data()}) == Kernels::kRefused;
            };
            for (const std::size_t n : {1UL, 7UL, 8UL, 9UL, 23UL, 100UL, 190UL})
                for (const std::size_t more : {0UL, 100UL}) {
                    std::vector<Index> sound(n + more, 3);  // values after it do not matter
                    for (std::size_t k = 0; k < n; ++k) sound[k] = static_cast<Index>(k + 5);
                    CHECK_FALSE(refused(sound, n));
                    for (std::size_t k = 0; k < n; ++k) {
                        for (const Index bad : {Index{-1}, static_cast<Index>(width),
                                                std::numeric_limits<Index>::max()}) {
                            std::vector<Index> columns = sound;
                            columns[k] = bad;
                            CHECK(refused(columns, n));
                        }
                        if (k == 0) continue;
                        std::vector<Index> columns = sound;
                        columns[k] = columns[k - 1];
                        CHECK(refused(columns, n));
                        std::swap(columns[k] = sound[k], columns[k - 1]);
                        CHECK(refused(columns, n));
                    }
                }
        };
        check(std::int32_t{});
        check(std::int64_t{});
    });
}

TEST_CASE("add_weight adds for values other than 0, and finds those that are not 1 either") {
    on_every_path([&](const Kernels& path) {
        Source source(31);
        for (const std::size_t n : lengths())
            for (const std::size_t stride : {2UL, 3UL, 4UL})
                for (const std::size_t squares_at : {0UL, 1UL, 2UL, 3UL}) {
                    if (squares_at >= stride || (squares_at == 1 && stride == 3)) continue;
                    check<double, std::int32_t>(path, n, stride, squares_at, source);
                    check<double, std::int64_t>(path, n, stride, squares_at, source);
                    check<float, std::int32_t>(path, n, stride, squares_at, source);
                    check<float, std::int64_t>(path, n, stride, squares_at, source);
                }
    });
}

TEST_CASE("add_values equals merging one value after the other") {
    on_every_path([&](const Kernels& path) {
        Source source(32);
        for (const std::size_t n : lengths()) {
            const std::size_t n_places = n + 1;  // the first place is not used
            std::vector<Moments> moments(n_places);
            std::vector<Moments> expected(n_places);
            // Few values and many, the new one lighter and heavier than those before, or nothing.
            for (const double weight : {0.0, 1.0, 1.0, 0.25, 8.0, 0.0, 1e-300, 3.0, 1e300}) {
                std::vector<double> values(n + Kernels::kFill, 1.0);
                std::vector<std::uint32_t> places(n + Kernels::kFill, 0);
                for (std::size_t i = 0; i < n; ++i) {
                    values[i] = tests::any_value(source, false);
                    if (values[i] == 0.0) values[i] = 1.0;
                    places[i] = static_cast<std::uint32_t>(n - i);
                    expected[n - i].merge({weight, values[i], 0.0, 0.0});
                }
                CHECK(path.add_values(values.data(), places.data(), n, weight,
                                      &moments.data()->weight));
                for (std::size_t i = 1; i <= n; ++i) {
                    const auto numbers = [](const Moments& m) {
                        return std::vector{m.weight, m.mean, m.mean_rest, m.m2};
                    };
                    CHECK(same(numbers(moments[i]), numbers(expected[i])));
                }
            }
        }
    });
}

TEST_CASE("add_values reports values that are not finite") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    on_every_path([&](const Kernels& path) {
        for (const double weight : {0.0, 1.0})
            for (const double bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()})
                for (std::size_t n = 1; n < 10; ++n)
                    for (std::size_t k = 0; k < n; ++k) {
                        std::vector<Moments> moments(n + 1);
                        std::vector<double> values(n + Kernels::kFill, 2.0);
                        std::vector<std::uint32_t> places(n + Kernels::kFill, 0);
                        for (std::uint32_t i = 0; i < n; ++i) places[i] = i + 1;
                        values[k] = bad;
                        CHECK_FALSE(path.add_values(values.data(), places.data(), n, weight,
                                                    &moments.data()->weight));
                    }
    });
}
