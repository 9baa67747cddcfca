#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "driftsieve/quantiles/summary.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;
using tests::Source;
using tests::Truth;
using tests::Weights;

namespace {

template <class Weight>
SummaryOf<Weight> exact(std::vector<Weighed> rows, std::size_t n_classes) {
    SummaryOf<Weight> summary;
    exact_summary<Weight>(rows, n_classes, summary);
    return summary;
}

// Batches merged and pruned one after another, each state compared with all rows so far.
template <class Weight>
void check_stream(Kind kind, Weights weights, std::size_t n_classes, double rounding) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(n_classes);
    Source source(1);
    Truth truth(n_classes);
    SummaryOf<Weight> ours, merged;
    ours.reset(0, n_classes);
    for (std::size_t batch = 0; batch < 8; ++batch) {
        const auto rows = source.rows(source.below(80), n_classes, kind, weights, batch);
        truth.add(rows);
        const auto budget = static_cast<Weight>(0.1 * truth.total());
        merge_summaries(ours, exact<Weight>(rows, n_classes), merged);
        CHECK(truth.fault(merged, budget, rounding) == "");
        prune_summary(merged, budget);
        CHECK(truth.fault(merged, budget, rounding) == "");
        std::swap(ours, merged);
    }
}

}  // namespace

TEST_CASE("merged and pruned summaries equal brute force within their bounds") {
    for (const Kind kind : tests::all_kinds())
        for (const std::size_t n_classes : {1, 2, 3, 100}) {
            check_stream<std::uint32_t>(kind, Weights::unit, n_classes, 0.0);
            check_stream<std::uint32_t>(kind, Weights::whole, n_classes, 0.0);
            check_stream<double>(kind, Weights::whole, n_classes, 0.0);
            check_stream<double>(kind, Weights::real, n_classes, 1e-13);
            check_stream<double>(kind, Weights::all_orders, n_classes, 1e-13);
        }
}

TEST_CASE("a tree of merges hides no more than its parts together") {
    Source source(2);
    Truth truth(3);
    std::vector<Summary> level;
    for (std::size_t k = 0; k < 16; ++k) {
        const auto rows = source.rows(50, 3, Kind::bell, Weights::whole);
        Truth part(3);
        part.add(rows);
        truth.add(rows);
        level.push_back(exact<double>(rows, 3));
        prune_summary(level.back(), 0.1 * part.total());
    }
    for (; level.size() > 1; level.erase(level.begin(), level.begin() + 2)) {
        level.emplace_back();
        merge_summaries(level[0], level[1], level.back());
    }
    CHECK(truth.fault(level.front(), 0.1 * truth.total()) == "");
}

TEST_CASE("a merged list is pruned with at most a third of the mass that it may still hide") {
    for (const Kind kind : tests::all_kinds())
        for (const Weights weights : {Weights::unit, Weights::real, Weights::all_orders}) {
            CAPTURE(static_cast<int>(kind));
            Source source(3);
            Truth truth(2);
            Summary ours, merged;
            ours.reset(0, 2);
            for (std::size_t part = 0; part < 64; ++part) {
                const auto rows = source.rows(source.below(80), 2, kind, weights, part);
                Truth of_part(2);
                of_part.add(rows);
                truth.add(rows);
                Summary theirs = exact<double>(rows, 2);
                prune_summary(theirs, 0.1 * of_part.total());
                merge_summaries(ours, theirs, merged);
                std::vector<double> totals;
                for (std::size_t i = 0; i < merged.size(); ++i) totals.push_back(merged.total(i));
                const double limit = 0.15 * truth.total();
                const double hidden = merged.most_hidden();
                const double budget = thrifty_budget(merged, limit);
                CHECK(budget <= hidden + (limit - hidden) / 3.0);
                const std::size_t size = pruned_size(merged, totals, budget);
                prune_summary(merged, budget);
                CHECK(merged.size() == size);
                CHECK(static_cast<double>(size) <= 4.0 * truth.total() / (limit - budget) + 3.0);
                CHECK(truth.fault(merged, limit, 1e-13) == "");
                std::swap(ours, merged);
            }
        }
}

TEST_CASE("a list that hides all it may already is pruned to that") {
    Summary summary = exact<double>({{1.0, 1.0, 0}, {2.0, 3.0, 1}}, 2);
    summary.hidden[1] = 2.0;
    CHECK(thrifty_budget(summary, 2.0) == 2.0);
    CHECK(thrifty_budget(Summary(), 2.0) < 2.0);
}

TEST_CASE("sorted rows hide nothing and add up where values are equal") {
    const Summary found = exact<double>(
        {{2.0, 1.5, 1}, {-0.0, 1.0, 0}, {2.0, 2.0, 0}, {0.0, 4.0, 1}, {7.0, 0.0, 1}}, 2);
    REQUIRE(found.size() == 2);  // a row that weighs nothing leaves no mini-bin
    CHECK(std::vector<double>(found.values.begin(), found.values.end()) ==
          std::vector<double>{0.0, 2.0});
    CHECK_FALSE(std::signbit(found.values[0]));
    CHECK(std::vector<double>(found.weights.begin(), found.weights.end()) ==
          std::vector<double>{1.0, 4.0, 2.0, 1.5});
    CHECK(std::vector<double>(found.hidden.begin(), found.hidden.end()) ==
          std::vector<double>{0.0, 0.0});
}

TEST_CASE("pruning stops at zero and at its budget") {
    Summary summary = exact<double>(
        {{-2.0, 1.0, 0}, {-1.0, 1.0, 0}, {0.0, 1.0, 0}, {1.0, 1.0, 0}, {2.0, 1.0, 0}}, 1);
    prune_summary(summary, 100.0);
    CHECK(std::vector<double>(summary.values.begin(), summary.values.end()) ==
          std::vector<double>{-1.0, 0.0, 2.0});
    CHECK(std::vector<double>(summary.hidden.begin(), summary.hidden.end()) ==
          std::vector<double>{1.0, 0.0, 1.0});
    Summary one = exact<double>({{1.0, 1.0, 0}, {2.0, 1.0, 0}, {3.0, 1.0, 0}}, 1);
    prune_summary(one, 1.0);
    CHECK(std::vector<double>(one.values.begin(), one.values.end()) ==
          std::vector<double>{1.0, 3.0});
    prune_summary(one, 0.5);  // what is hidden already may be more than is allowed now
    CHECK(one.size() == 2);
}

TEST_CASE("a summary that has faded away is empty") {
    Summary summary = exact<double>({{1.0, 1.0, 0}, {2.0, 3.0, 1}}, 2);
    summary.scale(0.5);
    CHECK(summary.of(1)[1] == 1.5);
    summary.scale(0.0);
    CHECK(summary.empty());
    CHECK(summary.weights.empty());
}
