#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/quantiles/exact/exact_strip.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;
using tests::Source;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Rows {
    std::size_t width;
    std::vector<double> values;
    std::vector<std::uint32_t> classes;
    RowBlock block;

    Rows(Source& source, std::size_t n, std::size_t width, std::size_t n_classes) : width(width) {
        for (std::size_t i = 0; i < n; ++i)
            classes.push_back(static_cast<std::uint32_t>(source.below(n_classes)));
        values.resize(n * width);
        block = RowBlock::of({classes, {}, {}}, n_classes + 1, Fading(), 0);  // one has no rows
    }
    MatrixView<double> view() const {
        return {values.data(), static_cast<std::ptrdiff_t>(width), 1, classes.size(), width};
    }
};

// A column by the definition: sorted, and edge e the smallest value that e + 1 of n_bins parts of
// the rows do not exceed.
void check_column(const Rows& rows, const ExactStrip& strip, std::size_t lo, std::size_t j,
                  std::size_t n_bins) {
    const std::size_t n = rows.classes.size();
    const auto value = [&](std::size_t i) { return rows.values[i * rows.width + lo + j]; };
    std::vector<double> sorted;
    for (std::size_t i = 0; i < n; ++i) sorted.push_back(value(i));
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t e = 0; e + 1 < n_bins; ++e) {
        std::size_t rank = 1;
        while (rank * n_bins < (e + 1) * n) ++rank;
        const double edge = strip.edge(e, j);
        CHECK(edge == sorted[rank - 1]);
        CHECK(!(edge == 0.0 && std::signbit(edge)));
        for (std::size_t c = 0; c < rows.block.n_classes(); ++c) {
            double above = 0.0;
            for (std::size_t i = 0; i < n; ++i)
                if (rows.classes[i] == c && value(i) > edge) above += 1.0;
            CHECK(strip.above(e, c, j) == above);
        }
    }
}

void check_moments(const Rows& rows, const ExactStrip& strip, std::size_t lo, std::size_t j) {
    // Sums about a value of the column are as exact as the square of its range allows.
    double low = rows.values[lo + j];
    double high = low;
    for (std::size_t i = 0; i < rows.classes.size(); ++i) {
        low = std::min(low, rows.values[i * rows.width + lo + j]);
        high = std::max(high, rows.values[i * rows.width + lo + j]);
    }
    const double range = high - low;
    for (std::size_t c = 0; c < rows.block.n_classes(); ++c) {
        std::vector<double> values;
        for (std::size_t i = 0; i < rows.classes.size(); ++i)
            if (rows.classes[i] == c) values.push_back(rows.values[i * rows.width + lo + j]);
        const Moments expected = Moments::of(values.data(), nullptr, values.size());
        const Moments found = strip.moments(c, j);
        CHECK(found.weight == expected.weight);
        const double spread = std::sqrt(expected.m2);
        CHECK(std::abs((found.mean - expected.mean) + (found.mean_rest - expected.mean_rest)) <=
              1e-13 * spread);
        CHECK(std::abs(found.m2 - expected.m2) <=
              1e-14 * static_cast<double>(values.size()) * range * range);
    }
}

}  // namespace

TEST_CASE("edges and classes are those of the sorted rows") {
    Source source(1);
    ExactStrip strip;
    for (const Kind kind : tests::all_kinds())
        for (const std::size_t n : {1, 2, 5, 23, 64, 1000})
            for (const std::size_t n_bins : {2, 5, 12}) {
                const std::size_t width = 1 + source.below(40);
                Rows rows(source, n, width, 1 + source.below(4));
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < width; ++j)
                        rows.values[i * width + j] = source.value(kind, i * 4 / n);
                CAPTURE(static_cast<int>(kind));
                CAPTURE(n);
                CAPTURE(n_bins);
                REQUIRE(ExactStrip::serves(rows.block));
                for (std::size_t lo = 0; lo < width; lo += ExactStrip::kWidth) {
                    const std::size_t hi = std::min(lo + ExactStrip::kWidth, width);
                    strip.read(rows.view(), rows.block, lo, hi, n_bins);
                    for (std::size_t j = 0; j < hi - lo; ++j) {
                        // only differences beyond the range of double are left to others
                        if (kind != Kind::huge) REQUIRE(strip.is_whole(j));
                        if (!strip.is_whole(j)) continue;
                        check_column(rows, strip, lo, j, n_bins);
                        if (kind != Kind::huge && kind != Kind::tiny)
                            check_moments(rows, strip, lo, j);
                    }
                }
            }
}

TEST_CASE("a column has the same bits wherever a strip begins") {
    Source source(2);
    Rows rows(source, 300, 40, 2);
    for (double& value : rows.values) value = source.bell();
    ExactStrip first, second;
    first.read(rows.view(), rows.block, 0, 16, 5);
    second.read(rows.view(), rows.block, 9, 14, 5);
    for (std::size_t j = 9; j < 14; ++j)
        for (std::uint32_t c = 0; c < 2; ++c) {
            CHECK(first.moments(c, j).mean == second.moments(c, j - 9).mean);
            CHECK(first.moments(c, j).m2 == second.moments(c, j - 9).m2);
            for (std::size_t e = 0; e < 4; ++e) CHECK(first.edge(e, j) == second.edge(e, j - 9));
        }
}

TEST_CASE("missing values are reported and do not affect other columns") {
    Source source(3);
    Rows rows(source, 100, 20, 2);
    for (double& value : rows.values) value = source.bell();
    rows.values[57 * 20 + 3] = kNaN;
    ExactStrip strip;
    strip.read(rows.view(), rows.block, 0, 16, 5);
    for (std::size_t j = 0; j < 16; ++j) {
        CHECK(strip.is_whole(j) == (j != 3));
        if (j != 3) check_column(rows, strip, 0, j, 5);
    }
    std::vector<double> values(100);
    strip.values(3, values.data());
    for (std::size_t k = 0; k < 100; ++k) {
        const double value = rows.values[rows.block.order[k] * 20 + 3];
        CHECK(std::bit_cast<std::uint64_t>(values[k]) == std::bit_cast<std::uint64_t>(value));
    }
}

TEST_CASE("weighted rows and very many rows are not handled") {
    const std::vector<std::uint32_t> classes(3, 0);
    const std::vector<double> weights(3, 2.0);
    CHECK_FALSE(ExactStrip::serves(RowBlock::of({classes, weights, {}}, 1, Fading(), 0)));
    CHECK_FALSE(ExactStrip::serves(RowBlock::of({{}, {}, {}}, 1, Fading(), 0)));
    const std::vector<std::uint32_t> many(40000, 0);
    CHECK_FALSE(ExactStrip::serves(RowBlock::of({many, {}, {}}, 1, Fading(), 0)));
}
