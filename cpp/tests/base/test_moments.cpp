#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "driftsieve/base/moments.hpp"
#include "rows.hpp"

using driftsieve::Moments;
using tests::Kind;
using tests::Source;
using tests::Weights;

namespace {

struct Values {
    std::vector<double> values, weights;

    Moments part(std::size_t begin, std::size_t end) const {
        return Moments::of(values.data() + begin,
                           weights.empty() ? nullptr : weights.data() + begin, end - begin);
    }
    Moments all() const { return part(0, values.size()); }

    // Block by block, as rows come.
    Moments merged(std::size_t block) const {
        Moments sum;
        for (std::size_t i = 0; i < values.size(); i += block)
            sum.merge(part(i, std::min(i + block, values.size())));
        return sum;
    }
};

// The mean is relative to the first value: an offset would cost long double digits as well.
struct Exact {
    double first = 0.0;
    long double weight = 0.0L, mean = 0.0L, m2 = 0.0L;

    explicit Exact(const Values& of) : first(of.values[0]) {
        const auto w = [&](std::size_t i) { return of.weights.empty() ? 1.0L : of.weights[i]; };
        for (std::size_t i = 0; i < of.values.size(); ++i) weight += w(i);
        for (std::size_t i = 0; i < of.values.size(); ++i)
            mean += w(i) / weight * from_first(of, i);
        for (std::size_t i = 0; i < of.values.size(); ++i) {
            const long double delta = from_first(of, i) - mean;
            m2 += w(i) * delta * delta;
        }
    }
    long double from_first(const Values& of, std::size_t i) const {
        return static_cast<long double>(of.values[i]) - first;
    }
};

Values values_of(Source& source, std::size_t n, Kind kind, Weights weights) {
    Values out;
    for (const auto& row : source.rows(n, 1, kind, weights)) {
        out.values.push_back(row.value);
        out.weights.push_back(row.weight);
    }
    if (weights == Weights::unit) out.weights.clear();
    return out;
}

void check_close(const Moments& found, const Exact& exact, double relative) {
    const long double spread = std::sqrt(exact.m2 / exact.weight);
    const long double mean = (static_cast<long double>(found.mean) - exact.first) + found.mean_rest;
    CHECK(std::abs(found.weight - exact.weight) <= relative * exact.weight);
    CHECK(std::abs(mean - exact.mean) <= relative * spread);
    CHECK(std::abs(found.m2 - exact.m2) <= relative * exact.m2);
}

}  // namespace

TEST_CASE("moments agree with sums in long double") {
    Source source(1);
    for (const Kind kind : {Kind::bell, Kind::cauchy, Kind::integers, Kind::half_zeros,
                            Kind::outlier, Kind::clusters, Kind::offset, Kind::far_offset})
        for (const Weights weights :
             {Weights::unit, Weights::whole, Weights::real, Weights::all_orders}) {
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(weights));
            const Values rows = values_of(source, 5000, kind, weights);
            const Exact exact(rows);
            check_close(rows.all(), exact, 1e-11);
            for (const std::size_t block : {1, 7, 256, 1600})
                check_close(rows.merged(block), exact, 1e-11);
        }
}

TEST_CASE("an offset costs no digits of the difference between class means") {
    Source source(2);
    for (const Weights weights : {Weights::unit, Weights::real}) {
        Values a = values_of(source, 20000, Kind::bell, weights);
        Values b = values_of(source, 20000, Kind::bell, weights);
        // grains that 1e8 leaves room for, so that the values with the offset are the same ones
        for (double& value : a.values) value = std::round(value * 0x1p20) / 0x1p20;
        for (double& value : b.values) value = std::round((value + 0.03) * 0x1p20) / 0x1p20;
        const Exact exact_a(a), exact_b(b);
        const long double exact = (exact_b.first - exact_a.first) + (exact_b.mean - exact_a.mean);
        for (double& value : a.values) value += 1e8;
        for (double& value : b.values) value += 1e8;
        for (const std::size_t block : {1, 256, 1600, 20000}) {
            const Moments of_a = a.merged(block), of_b = b.merged(block);
            const double found = (of_b.mean - of_a.mean) + (of_b.mean_rest - of_a.mean_rest);
            CHECK(std::abs(found - exact) <= 1e-12L * exact);
        }
    }
}

TEST_CASE("the order of merges does not matter, nor does fading all of it") {
    Source source(3);
    const Values rows = values_of(source, 4096, Kind::offset, Weights::real);
    std::vector<Moments> parts;
    for (std::size_t i = 0; i < 4096; i += 64) parts.push_back(rows.part(i, i + 64));
    const Exact exact(rows);
    for (int round = 0; round < 20; ++round) {
        std::vector<Moments> pool = parts;
        while (pool.size() > 1) {
            std::swap(pool[source.below(pool.size())], pool.back());
            const Moments one = pool.back();
            pool.pop_back();
            pool[source.below(pool.size())].merge(one);
        }
        check_close(pool[0], exact, 1e-12);
        Moments faded = pool[0];
        faded.scale(0x1p-256);
        CHECK(faded.mean == pool[0].mean);
        CHECK(faded.mean_rest == pool[0].mean_rest);
        CHECK(faded.m2 / faded.weight == pool[0].m2 / pool[0].weight);
    }
}

TEST_CASE("nothing, constants and the limits of double") {
    CHECK(Moments::of(nullptr, nullptr, 0).weight == 0.0);
    Moments none;
    none.merge(Moments{});
    CHECK(none.weight == 0.0);
    const std::vector<double> same(1000, 1e8 + 0.1);
    std::vector<double> thirds(1000, 1.0 / 3.0);
    thirds[500] = 1e-9;
    Moments constant = Moments::of(same.data(), thirds.data(), same.size());
    constant.merge(Moments::of(same.data(), nullptr, 17));
    CHECK(constant.mean == 1e8 + 0.1);
    CHECK(constant.mean_rest == 0.0);
    CHECK(constant.m2 == 0.0);
    const std::vector<double> far = {1.7e308, -1.7e308, 1.7e308, 0.0};
    const Moments wide = Moments::of(far.data(), nullptr, far.size());
    CHECK(wide.m2 == std::numeric_limits<double>::infinity());
    Moments gone = constant;
    gone.scale(0.0);
    CHECK(gone.weight == 0.0);
    CHECK(gone.mean == 0.0);
    const std::vector<double> weightless = {0.0, 0.0};
    CHECK(Moments::of(same.data(), weightless.data(), 2).weight == 0.0);
}
