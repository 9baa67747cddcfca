#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/sparse/column_runs.hpp"
#include "driftsieve/sparse/fold_column.hpp"
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
    FeatureState state;
    Scratch scratch;
    ColumnRuns runs;
    std::vector<LoggedValue> log;
    std::vector<double> weights;

    explicit Stream(std::size_t n_classes) : truth(n_classes), totals(n_classes) {}

    // Logs rows; returns those that are new.
    NewValues add(std::size_t n, Kind kind, Weights weighed, std::size_t batch) {
        NewValues added;
        std::vector<Weighed> rows = source.rows(n, totals.size(), kind, weighed, batch);
        std::erase_if(rows, [](const Weighed& row) { return row.value == 0.0; });  // not pushed
        truth.add(rows);
        for (const Weighed& row : rows) {
            log.push_back({row.value, row.cls, 0});
            weights.push_back(row.weight);
            ++added.count;
            added.weight += row.weight;
            totals[row.cls].add(row.weight);
        }
        for (std::size_t zeros = source.below(2) * n; zeros > 0; --zeros)
            totals[source.below(totals.size())].add(source.weight(weighed));
        return added;
    }

    void fold(const NewValues& added) {
        runs.take(log, weights, 1.0, 1, totals.size(), [](std::size_t) { return 0u; });
        fold_column(state, runs.of(0, totals.size()), added, totals, kConfig, scratch);
        log.clear();
        weights.clear();
    }
};

void check_stream(Kind kind, Weights weights, std::size_t n_classes) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(static_cast<int>(weights));
    CAPTURE(n_classes);
    Stream stream(n_classes);
    Summary summary, ours, theirs;
    for (std::size_t batch = 0; batch < 8; ++batch) {
        // As in a merge: pruned with these in the weight already.
        const bool spent = stream.source.below(3) == 0;
        NewValues added = stream.add(stream.source.below(40), kind, weights, batch);
        if (spent) {
            const std::vector<std::size_t> begin(n_classes + 1);
            fold_column(stream.state, {nullptr, 1, nullptr, nullptr, begin}, {}, stream.totals,
                        kConfig, stream.scratch);
            added = {};
        }
        const NewValues more =
            stream.add(batch % 2 == 0 ? 60 : kConfig.long_run() + 500, kind, weights, batch);
        stream.fold({added.count + more.count, added.weight + more.weight});
        stream.state.load(n_classes, summary, ours, theirs);
        const double budget = kConfig.epsilon * stream.state.weight(stream.totals, 0.0, kConfig);
        CHECK(stream.truth.fault(summary, budget, 1e-12) == "");
        double weight = 0.0;
        for (const ClassState& state : stream.state.classes) weight += state.moments.weight;
        CHECK(weight == doctest::Approx(stream.truth.total()).epsilon(1e-12));
    }
}

}  // namespace

TEST_CASE("values of a sparse feature stay within the guarantee, sorted or counted, new or not") {
    for (const Kind kind : tests::all_kinds())
        for (const Weights weights : {Weights::unit, Weights::real, Weights::all_orders})
            for (const std::size_t n_classes : {1UL, 3UL, 6UL})
                check_stream(kind, weights, n_classes);
}

TEST_CASE("a long run is counted if it is new, else it is sorted") {
    for (const bool is_new : {true, false}) {
        Stream stream(2);
        const NewValues added = stream.add(8 * kConfig.long_run(), Kind::bell, Weights::unit, 0);
        for (ClassTotal& total : stream.totals) total.weight *= 1e-9;  // nothing may be pruned
        stream.fold(is_new ? added : NewValues());
        Summary summary, ours, theirs;
        stream.state.load(2, summary, ours, theirs);
        CHECK((summary.size() < added.count / 2) == is_new);
    }
}

TEST_CASE("long runs of few classes are counted into the cells of the first one") {
    for (const std::size_t n_classes : {std::size_t{2}, kFewClasses + 1}) {
        Stream stream(n_classes);
        for (int run = 0; run < 3; ++run)
            stream.fold(stream.add(8 * kConfig.long_run(), Kind::bell, Weights::unit, 0));
        CHECK(stream.state.counting.size() == (n_classes == 2 ? 1 : 0));
        if (n_classes > 2) continue;
        // all values but outliers are in the cells
        CHECK(stream.state.counting[0].held() > 0.95 * stream.truth.total());
        // values that are sorted move the cells to the summary
        stream.fold(stream.add(10, Kind::bell, Weights::unit, 0));
        CHECK(stream.state.counting.empty());
    }
}
