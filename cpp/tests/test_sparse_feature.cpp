#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/sparse_feature.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;
using tests::Source;
using tests::Truth;
using tests::Weights;

namespace {

const Config kConfig{.epsilon = 0.02};

// A feature of a sparse store, and rows of others that add to the weight alone.
struct Stream {
    Source source{11};
    Truth truth;
    std::vector<ClassTotal> totals;
    SparseFeature feature;
    Scratch scratch;

    explicit Stream(std::size_t n_classes) : truth(n_classes), totals(n_classes) {}

    std::vector<LoggedValue> rows(std::size_t n, Kind kind, Weights weights, std::size_t batch) {
        std::vector<Weighed> rows = source.rows(n, totals.size(), kind, weights, batch);
        std::erase_if(rows, [](const Weighed& row) { return row.value == 0.0; });  // not pushed
        truth.add(rows);
        std::vector<LoggedValue> run;
        for (const Weighed& row : rows) {
            run.push_back({0, row.cls, row.value, row.weight});
            totals[row.cls].add(row.weight);
        }
        for (std::size_t zeros = source.below(2) * n; zeros > 0; --zeros)
            totals[source.below(totals.size())].add(source.weight(weights));
        return run;
    }

    void fold(const std::vector<LoggedValue>& run, bool is_new) {
        feature.fold(run, is_new, totals, kConfig, scratch);
    }
};

void check_stream(Kind kind, Weights weights, std::size_t n_classes) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(static_cast<int>(weights));
    CAPTURE(n_classes);
    Stream stream(n_classes);
    Summary summary;
    for (std::size_t batch = 0; batch < 8; ++batch) {
        stream.feature.wait(stream.rows(stream.source.below(40), kind, weights, batch));
        const auto run =
            stream.rows(batch % 2 == 0 ? 60 : kConfig.long_run() + 500, kind, weights, batch);
        // As in a merge: pruned with the run in the weight already.
        const bool spent = stream.source.below(3) == 0;
        if (spent) stream.fold({}, true);
        stream.fold(run, !spent);
        stream.feature.state.summary.load(n_classes, summary);
        const double budget = kConfig.epsilon * stream.feature.state.weight(stream.totals, 0.0);
        CHECK(stream.truth.fault(summary, budget, 1e-12) == "");
        CHECK(stream.feature.pending.empty());
        double weight = 0.0;
        for (const ClassState& state : stream.feature.state.classes) weight += state.moments.weight;
        CHECK(weight == doctest::Approx(stream.truth.total()).epsilon(1e-12));
    }
}

}  // namespace

TEST_CASE("values of a sparse feature keep the promise, sorted or counted, new or not") {
    for (const Kind kind : tests::all_kinds())
        for (const Weights weights : {Weights::unit, Weights::real, Weights::all_orders})
            for (const std::size_t n_classes : {1UL, 3UL, 6UL})
                check_stream(kind, weights, n_classes);
}

TEST_CASE("a long run is counted if it is new, else it is sorted") {
    for (const bool is_new : {true, false}) {
        Stream stream(2);
        const auto run = stream.rows(4 * kConfig.long_run(), Kind::bell, Weights::unit, 0);
        for (ClassTotal& total : stream.totals) total.weight *= 1e-9;  // nothing may be pruned
        stream.fold(run, is_new);
        Summary summary;
        stream.feature.state.summary.load(2, summary);
        CHECK((summary.size() < run.size() / 2) == is_new);
    }
}

TEST_CASE("missing values of a run are counted, the others keep their order") {
    const double none = std::nan("");
    std::vector<LoggedValue> run{{0, 1, none, 2.0}, {0, 0, 5.0, 1.0},  {0, 1, none, 0.5},
                                 {0, 1, 4.0, 1.0},  {0, 0, none, 3.0}, {0, 0, 6.0, 1.0}};
    SparseFeature feature;
    const auto present = feature.take_missing(run);
    REQUIRE(present.size() == 3);
    CHECK(present[0].value == 5.0);
    CHECK(present[1].value == 4.0);
    CHECK(present[2].value == 6.0);
    CHECK(feature.state.of(0).missing == 3.0);
    CHECK(feature.state.of(1).missing == 2.5);
}
