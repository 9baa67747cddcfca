#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
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
            row, weight, sums.data(), stride, found.data());
        found.resize(n_found);
        CHECK(found == others);
        CHECK(same(sums, expected));
    }
}

}  // namespace

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
