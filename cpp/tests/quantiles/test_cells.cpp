#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "driftsieve/quantiles/cells.hpp"
#include "rows.hpp"

using driftsieve::CellMap;
using tests::Kind;
using tests::Source;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMost = std::numeric_limits<double>::max();

// Values of the kind, and values that are not in the sample.
std::vector<double> values_of(Kind kind, std::size_t n) {
    Source source(3);
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(source.value(kind, i % 5));
    return values;
}

std::vector<double> sample_of(const std::vector<double>& values) {
    std::vector<double> sample(CellMap::sample_size(values.size()));
    const std::size_t step = CellMap::sample_step(values.size());
    for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = values[i * step];
    return sample;
}

// Cell by cell: one begins where the other ends, and both ends are assigned to them.
std::string fault_of_ends(const CellMap& map) {
    std::size_t coarse = 0;
    for (std::size_t m = 1; m <= map.size(); ++m) {
        const double upper = map.upper(m);
        const std::string at = "cell " + std::to_string(m) + ": ";
        if (map.upper(m, coarse) != upper) return at + "looking on from before finds another end";
        if (m > 1 && !(map.upper(m - 1) < upper)) return at + "is empty";
        if (map.index(upper) != m) return at + "does not hold its upper end";
        if (map.index(std::nextafter(upper, kInf)) != m + 1) return at + "the next begins later";
    }
    return "";
}

std::string fault_of_values(const CellMap& map, std::vector<double> values) {
    for (const double far : {0.0, -0.0, 5e-324, -5e-324, 1e-310, 1.0, -1.0, 1e308, -1e308, kMost})
        values.insert(values.end(), {far, -far});
    for (std::size_t m = 1; m <= map.size(); m += 7) values.push_back(map.upper(m));
    std::sort(values.begin(), values.end());
    std::size_t before = 0;
    for (const double value : values) {
        const std::size_t m = map.index(value);
        const std::string at = std::to_string(value) + ": ";
        if (m < before) return at + "lies in an earlier cell than a smaller value";
        if (m > map.size() + 1) return at + "there is no such cell";
        if (m >= 1 && m <= map.size() && value > map.upper(m)) return at + "lies above its cell";
        if (m >= 2 && value <= map.upper(m - 1)) return at + "lies below its cell";
        before = m;
    }
    return "";
}

}  // namespace

TEST_CASE("a value lies in its cell and a cell ends where the next begins") {
    CellMap map;
    for (const Kind kind : tests::all_kinds())
        for (const std::size_t n : {40, 256, 3000})
            for (const std::size_t cells : {1, 60, 600, 1 << 20}) {
                CAPTURE(static_cast<int>(kind));
                CAPTURE(n);
                const std::vector<double> values = values_of(kind, n);
                if (!map.fit(sample_of(values), cells)) {
                    const bool flat = kind == Kind::constant || kind == Kind::tiny;
                    CHECK((flat || kind == Kind::huge));
                    CHECK(map.size() == 0);
                    CHECK(map.index(values[0]) == 0);
                    continue;
                }
                CHECK(map.size() >= 1);
                CHECK(map.size() <= 2 * std::min(cells, CellMap::kMostCells) + 256);
                CHECK(fault_of_ends(map) == "");
                CHECK(fault_of_values(map, values) == "");
            }
}

TEST_CASE("cells hold about equal mass, whatever the scale and the offset") {
    for (const Kind kind : {Kind::bell, Kind::uniform, Kind::cauchy, Kind::offset, Kind::outlier}) {
        CAPTURE(static_cast<int>(kind));
        const std::vector<double> values = values_of(kind, 50000);
        for (const double scale : {0x1p-800, 1.0, 0x1p500}) {
            std::vector<double> scaled;
            for (const double value : values) scaled.push_back(value * scale);
            CellMap map;
            REQUIRE(map.fit(sample_of(scaled), 500));
            CHECK(fault_of_ends(map) == "");
            std::vector<std::size_t> counts(map.size() + 2);
            for (const double value : scaled) ++counts[map.index(value)];
            // outside and in crowded cells is what has to be taken out again
            std::size_t taken = counts.front() + counts.back();
            for (std::size_t m = 1; m <= map.size(); ++m)
                taken += counts[m] > 5 * values.size() / 500 ? counts[m] : 0;
            CHECK(taken < values.size() / 10);
        }
    }
}

TEST_CASE("grids at the limits of the resolution of double") {
    CellMap map;
    Source source(4);
    int fitted = 0;
    for (int round = 0; round < 4000; ++round) {
        const double offset =
            std::ldexp(1.0 + source.uniform(), static_cast<int>(source.below(2000)) - 990);
        const double spread = std::ldexp(offset, -static_cast<int>(source.below(56)));
        std::vector<double> sample;
        for (int i = 0; i < 64; ++i)
            sample.push_back((source.below(2) == 0 ? offset : offset * source.uniform()) +
                             (source.uniform() - 0.5) * spread);
        if (source.below(2) == 0)
            for (double& value : sample) value = offset + (source.uniform() - 0.5) * spread;
        if (source.below(2) == 0)
            for (double& value : sample) value = -value;
        if (!map.fit(sample, 1 + source.below(900))) continue;
        ++fitted;
        REQUIRE(fault_of_values(map, sample) == "");
        if (round % 10 == 0) REQUIRE(fault_of_ends(map) == "");
    }
    CHECK(fitted > 2000);
}

TEST_CASE("values without a spread have no cells") {
    CellMap map;
    const auto fits = [&](std::vector<double> sample) { return map.fit(sample, 100); };
    CHECK_FALSE(fits({}));
    CHECK_FALSE(fits({1.0}));
    CHECK_FALSE(fits(std::vector<double>(100, 3.25)));
    CHECK_FALSE(fits(std::vector<double>(100, 0.0)));
    std::vector<double> steps(100, 1.0);
    for (std::size_t i = 0; i < steps.size(); i += 2) steps[i] = std::nextafter(1.0, 2.0);
    CHECK_FALSE(fits(steps));  // neighbouring doubles
    std::vector<double> far(100, 1e308);
    for (std::size_t i = 0; i < far.size(); i += 2) far[i] = -1e308;
    CHECK_FALSE(fits(far));
    CHECK(map.size() == 0);
}

TEST_CASE("whole numbers have cells no narrower than need be, with one of them in each") {
    Source source(9);
    for (const double unit : {0x1p-40, 0.25, 1.0, 3.0, 1024.0}) {
        std::vector<double> sample(CellMap::kSample);
        for (double& value : sample) value = unit * (static_cast<double>(source.below(60)) - 10.0);
        CellMap map;
        REQUIRE(map.fit(sample, 5000));
        CHECK(map.size() <= 4 * CellMap::kCoarse);
        std::size_t coarse = 0;
        for (double value = unit * -10.0; value < unit * 50.0; value += unit) {
            const std::size_t m = map.index(value);
            CHECK(map.only_multiple(m, coarse) == value);
            CHECK(map.upper(m) >= value);
        }
    }
}
