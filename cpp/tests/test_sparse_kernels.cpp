#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "paths.hpp"
#include "rows.hpp"

using driftsieve::AddWeight;
using driftsieve::Kernels;
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

// Rows of n values, the last of which has nothing behind it.
template <class T, class Index>
void check(const Kernels& path, std::size_t n, std::size_t stride, Source& source) {
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
        std::vector<std::uint32_t> others;
        for (std::size_t k = 0; k < n; ++k) {
            const T value = values[i * n + k];
            if (value == T{0}) continue;
            expected[static_cast<std::size_t>(columns[i * n + k]) * stride] += weight;
            if (value != T{1}) others.push_back(static_cast<std::uint32_t>(k));
        }
        std::vector<std::uint32_t> found(n + Kernels::kPast, 99);
        const SparseRow<T, Index> row{values.data() + i * n, columns.data() + i * n, n,
                                      (n_rows - 1 - i) * n};
        const std::size_t n_found = std::get<AddWeight<T, Index>>(path.add_weight)(
            row, weight, sums.data(), stride, width, found.data());
        found.resize(n_found);
        CHECK(found == others);
        CHECK(same(sums, expected));
    }
}

}  // namespace

TEST_CASE("add_weight refuses columns that do not rise or do not exist") {
    constexpr std::size_t width = 200;
    const std::vector<double> values(width, 1.0);
    on_every_path([&](const Kernels& path) {
        const auto check = [&](auto index) {
            using Index = decltype(index);
            const auto refused = [&](const std::vector<Index>& columns, std::size_t count) {
                std::vector<double> sums(width * 2);
                std::vector<std::uint32_t> found(count + Kernels::kPast);
                const SparseRow<double, Index> row{values.data(), columns.data(), count,
                                                   columns.size() - count, false};
                return std::get<AddWeight<double, Index>>(path.add_weight)(
                           row, 1.0, sums.data(), 2, width, found.data()) == Kernels::kRefused;
            };
            for (const std::size_t n : {1UL, 7UL, 8UL, 9UL, 23UL, 100UL, 190UL})
                for (const std::size_t more : {0UL, 100UL}) {
                    std::vector<Index> sound(n + more, 3);  // what comes behind does not matter
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

TEST_CASE("add_weight adds for what is not 0, and finds what is not 1 either") {
    on_every_path([&](const Kernels& path) {
        Source source(31);
        for (const std::size_t n : lengths())
            for (const std::size_t stride : {2UL, 4UL}) {
                check<double, std::int32_t>(path, n, stride, source);
                check<double, std::int64_t>(path, n, stride, source);
                check<float, std::int32_t>(path, n, stride, source);
                check<float, std::int64_t>(path, n, stride, source);
            }
    });
}
