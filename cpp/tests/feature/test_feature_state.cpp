#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/feature/feature_state.hpp"

using namespace driftsieve;

namespace {

const Config kConfig{.epsilon = 0.1};

Summary exact(std::vector<Weighed> rows, std::size_t n_classes) {
    Summary summary;
    exact_summary<double>(rows, n_classes, summary);
    return summary;
}

// A state of these rows; `missing` is the weight of further rows of class 0.
FeatureState state_of(const std::vector<Weighed>& rows, std::size_t n_classes, double missing) {
    FeatureState state;
    Scratch scratch;
    double weight = missing;
    for (const Weighed& row : rows) {
        state.of(row.cls).moments.merge({row.weight, row.value, 0.0, 0.0});
        weight += row.weight;
    }
    state.of(0).missing = missing;
    state.of(0).missing_squared = missing * missing;
    state.absorb(exact(rows, n_classes), weight, kConfig, scratch);
    return state;
}

}  // namespace

TEST_CASE("a merged state has the rows of both, with the classes of the other renumbered") {
    FeatureState ours = state_of({{1.0, 2.0, 0}, {3.0, 1.0, 1}}, 2, 0.5);
    const FeatureState theirs = state_of({{2.0, 4.0, 0}, {3.0, 8.0, 1}}, 2, 0.25);
    const std::vector<std::uint32_t> class_map{2, 0};
    std::vector<ClassTotal> totals(3);
    totals[0].weight = 2.0 + 0.5 + 8.0;
    totals[1].weight = 1.0;
    totals[2].weight = 4.0 + 0.25;
    Scratch scratch;
    ours.merge(theirs, class_map, totals, kConfig, scratch);
    CHECK(ours.classes[0].moments.weight == 10.0);
    CHECK(ours.classes[0].moments.mean == doctest::Approx(2.6));
    CHECK(ours.classes[1].moments.weight == 1.0);
    CHECK(ours.classes[2].moments.weight == 4.0);
    CHECK(ours.classes[0].missing == 0.5);
    CHECK(ours.classes[2].missing == 0.25);
    CHECK(ours.classes[2].missing_squared == 0.0625);
    CHECK(ours.held() == 15.0);
    CHECK(ours.weight(totals, 0.0, kConfig) == 15.0);  // 15.75 in all, 0.75 of it missing
    Summary merged;
    ours.summary.load(3, merged);
    REQUIRE(merged.size() == 3);
    const std::vector<double> expected{2, 0, 0, 0, 0, 4, 8, 1, 0};  // class by class
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t c = 0; c < 3; ++c) CHECK(merged.of(i)[c] == expected[3 * i + c]);
    ours.check(3);
}

TEST_CASE("fading scales all sums, and squares by the square") {
    FeatureState state = state_of({{1.0, 2.0, 0}, {3.0, 4.0, 1}}, 2, 1.0);
    Summary scratch;
    state.scale(0.5, scratch);
    CHECK(state.held() == 3.0);
    CHECK(state.classes[1].moments.weight == 2.0);
    CHECK(state.classes[1].moments.mean == 3.0);
    CHECK(state.classes[0].missing == 0.5);
    CHECK(state.classes[0].missing_squared == 0.25);
    state.scale(0.0, scratch);
    CHECK(state.held() == 0.0);
    CHECK(state.classes[0].missing == 0.0);
}

TEST_CASE("a state that no class has, or with a negative weight, is refused") {
    FeatureState state = state_of({{1.0, 2.0, 1}}, 2, 0.0);
    CHECK_THROWS(state.check(1));
    state.classes[1].missing = -1.0;
    CHECK_THROWS(state.check(2));
}
