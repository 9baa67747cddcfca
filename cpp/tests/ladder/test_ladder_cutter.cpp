#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <random>
#include <vector>

#include "driftsieve/ladder/ladder_cutter.hpp"
#include "driftsieve/quantiles/bin_cutter.hpp"
#include "paths.hpp"

using namespace driftsieve;

namespace {

// A list with weights of 0 at some half-lives, and nothing but them at half-life `empty`.
LadderList random_list(std::size_t n, std::size_t n_classes, std::size_t rungs, std::size_t empty,
                       std::mt19937_64& random) {
    std::uniform_real_distribution<double> uniform;
    std::vector<double> values, hidden, weights;
    for (std::size_t i = 0; i < n; ++i) {
        values.push_back(static_cast<double>(i) - 5.0);
        for (std::size_t r = 0; r < rungs; ++r) hidden.push_back(uniform(random));
        for (std::size_t k = 0; k < n_classes * rungs; ++k)
            weights.push_back(k % rungs == empty || uniform(random) < 0.2 ? 0.0 : uniform(random));
    }
    LadderList list;
    list.store(values, hidden.data(), weights.data(), n_classes, rungs);
    return list;
}

}  // namespace

TEST_CASE("a list is cut into the same bits at all half-lives together as at each alone") {
    std::mt19937_64 random(1);
    for (std::size_t rungs = 2; rungs <= kMostRungs; ++rungs)
        for (const std::size_t n : {0, 1, 2, 7, 300})
            for (const std::size_t n_bins : {2, 5, 20}) {
                const std::size_t n_classes = 1 + rungs % kFewClasses;
                const LadderList list = random_list(n, n_classes, rungs, rungs - 1, random);
                LadderBins found;
                LadderCutter(rungs, n_bins).cut(list, found);
                for (std::size_t r = 0; r < rungs; ++r) {
                    std::vector<std::uint32_t> place(n_classes);
                    for (std::uint32_t c = 0; c < n_classes; ++c) place[c] = c;
                    std::vector<double> edges(n_bins - 1), bins(n_bins * n_classes);
                    Column column;
                    column.reset(n_classes);
                    list.load(r, rungs, n_classes, column.summary);
                    const CutTarget out{place, n_bins, 0.5, edges.data(), bins.data()};
                    const double rank_error = BinCutter().cut(column, out);
                    const std::vector<double> wanted_edges = edges, wanted_bins = bins;
                    CHECK(found.at(r).copy(out) == rank_error);
                    CHECK(tests::same(edges, wanted_edges));
                    CHECK(tests::same(bins, wanted_bins));
                }
            }
}

TEST_CASE("every code path cuts a list into the same bits") {
    std::mt19937_64 random(2);
    for (std::size_t rungs = 2; rungs <= kMostRungs; ++rungs) {
        const LadderList list = random_list(300, 2, rungs, 0, random);
        std::vector<double> first;
        for (const Kernels* kernels : tests::paths()) {
            std::vector<double> found(rungs * (4 + 10), 0.0);
            kernels->ladder->cut(rungs, {2, list.values(), list.weights(), list.size(), 5,
                                         found.data(), found.data() + 4 * rungs});
            if (first.empty()) first = found;
            CHECK(found == first);
        }
    }
}
