#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/quantiles/packed_summary.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;
using tests::Source;
using tests::Weights;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The parts of a packed summary, which an archive reads or writes.
struct Parts {
    std::uint32_t n_classes = 0;
    Room<double> values;
    Room<std::uint32_t> narrow;
    Room<double> wide;
    Room<std::uint32_t> places;
    bool reads = true;

    template <class... Fields>
    void operator()(std::uint32_t& n, Room<double>& v, Room<std::uint32_t>& few, Room<double>& many,
                    Room<std::uint32_t>& at) {
        if (reads) {
            n = n_classes, v = values, few = narrow, many = wide, at = places;
        } else {
            n_classes = n, values = v, narrow = few, wide = many, places = at;
        }
    }

    static Parts of(PackedSummary packed) {
        Parts parts;
        parts.reads = false;
        packed.archive(parts);
        parts.reads = true;
        return parts;
    }
    PackedSummary packed() {
        PackedSummary result;
        result.archive(*this);
        return result;
    }
};

template <class Weight>
SummaryOf<Weight> summary_of(std::size_t n, std::size_t n_classes, Weights weights,
                             std::uint64_t seed = 1) {
    Source source(seed);
    auto rows = source.rows(n, n_classes, Kind::bell, weights);
    SummaryOf<Weight> summary;
    exact_summary<Weight>(rows, n_classes, summary);
    prune_summary(summary, static_cast<Weight>(n / 10));
    return summary;
}

template <class A, class B>
void check_same(const SummaryOf<A>& found, const SummaryOf<B>& expected) {
    CHECK(std::equal(found.values.begin(), found.values.end(), expected.values.begin(),
                     expected.values.end()));
    CHECK(std::equal(found.hidden.begin(), found.hidden.end(), expected.hidden.begin(),
                     expected.hidden.end()));
    CHECK(std::equal(found.weights.begin(), found.weights.end(), expected.weights.begin(),
                     expected.weights.end()));
}

// Stored and loaded again it is unchanged, and has the size that it reports.
template <class Weight>
Parts check_round_trip(const SummaryOf<Weight>& summary) {
    PackedSummary packed;
    packed.store(summary);
    CHECK(packed.sound());
    CHECK(packed.size() == summary.size());
    SummaryOf<Weight> loaded;
    packed.load(summary.n_classes, loaded);
    check_same(loaded, summary);
    Summary as_double;
    packed.load(summary.n_classes, as_double);
    check_same(as_double, summary);
    const Parts parts = Parts::of(packed);
    CHECK(packed.nbytes() == parts.values.size() * 8 + parts.wide.size() * 8 +
                                 parts.narrow.size() * 4 + parts.places.size() * 4);
    return parts;
}

}  // namespace

TEST_CASE("whole weights are narrow, others are wide") {
    CHECK(check_round_trip(summary_of<std::uint32_t>(200, 2, Weights::whole)).wide.empty());
    CHECK(check_round_trip(summary_of<double>(200, 2, Weights::whole)).wide.empty());
    CHECK(check_round_trip(summary_of<double>(200, 2, Weights::real)).narrow.empty());
    CHECK(check_round_trip(summary_of<double>(200, 3, Weights::all_orders)).narrow.empty());
    CHECK(check_round_trip(summary_of<double>(0, 3, Weights::real)).values.empty());
    Summary large = summary_of<double>(3, 1, Weights::unit);
    large.weights[0] = PackedSummary::kMostNarrow;
    CHECK(check_round_trip(large).wide.empty());
    large.weights[0] = PackedSummary::kMostNarrow + 1.0;
    CHECK(check_round_trip(large).narrow.empty());
}

TEST_CASE("of many classes only those with weight are kept") {
    for (const std::size_t n_classes : {4, 5, 30, 1000}) {
        CAPTURE(n_classes);
        const Parts narrow =
            check_round_trip(summary_of<std::uint32_t>(50, n_classes, Weights::unit));
        const Parts wide = check_round_trip(summary_of<double>(50, n_classes, Weights::real));
        // a place takes as much as a narrow weight, and half of a wide one
        CHECK(narrow.places.empty() == (n_classes < 30));
        CHECK(wide.places.empty() == (n_classes < 5));
    }
    CHECK(check_round_trip(summary_of<double>(9000, 5, Weights::real)).places.empty());
}

TEST_CASE("a summary is loaded for more classes than it was stored with") {
    for (const std::size_t n_classes : {1, 2, 40}) {
        const Summary summary = summary_of<double>(60, n_classes, Weights::real);
        PackedSummary packed;
        packed.store(summary);
        Summary wider;
        packed.load(n_classes + 3, wider);
        REQUIRE(wider.n_classes == n_classes + 3);
        bool same = true;
        for (std::size_t i = 0; i < summary.size(); ++i)
            for (std::size_t c = 0; c < wider.n_classes; ++c)
                same = same && wider.of(i)[c] == (c < n_classes ? summary.of(i)[c] : 0.0);
        CHECK(same);
    }
}

TEST_CASE("storing again keeps no room that is not needed, and leaves nothing behind") {
    PackedSummary packed;
    packed.store(summary_of<double>(3000, 40, Weights::real));
    packed.store(summary_of<std::uint32_t>(30, 2, Weights::unit));
    const Parts parts = Parts::of(packed);
    CHECK(parts.wide.empty());
    CHECK(parts.places.empty());
    CHECK(packed.nbytes() <= (parts.values.size() * 8 + parts.narrow.size() * 4) * 5 / 4);
}

TEST_CASE("parts that do not fit together are invalid") {
    PackedSummary narrow, wide, sparse;
    narrow.store(summary_of<std::uint32_t>(40, 2, Weights::unit));
    wide.store(summary_of<double>(40, 2, Weights::real));
    sparse.store(summary_of<double>(40, 50, Weights::real));
    REQUIRE_FALSE(Parts::of(sparse).places.empty());
    const auto sound = [](const PackedSummary& from, const auto& change) {
        Parts parts = Parts::of(from);
        change(parts);
        return parts.packed().sound();
    };
    const auto nothing = [](Parts&) {};
    CHECK(sound(narrow, nothing));
    CHECK(sound(wide, nothing));
    CHECK(sound(sparse, nothing));
    CHECK(PackedSummary().sound());
    for (const PackedSummary* from : {&narrow, &wide, &sparse}) {
        CHECK_FALSE(sound(*from, [](Parts& p) { p.values.pop_back(); }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.values.push_back(1e9); }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.values.clear(); }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.values.back() = kInf; }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.values[0] = -kInf; }));
        CHECK_FALSE(
            sound(*from, [](Parts& p) { p.values[1] = std::numeric_limits<double>::quiet_NaN(); }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.values[1] = p.values[0]; }));
        CHECK_FALSE(sound(*from, [](Parts& p) { std::swap(p.values[1], p.values[0]); }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.places.push_back(0); }));
        CHECK_FALSE(sound(*from, [](Parts& p) { p.n_classes = 0; }));
    }
    CHECK_FALSE(sound(narrow, [](Parts& p) { p.n_classes = 3; }));
    CHECK_FALSE(sound(narrow, [](Parts& p) { p.narrow.pop_back(); }));
    CHECK_FALSE(sound(narrow, [](Parts& p) { p.narrow[0] = PackedSummary::kMostNarrow + 1; }));
    CHECK_FALSE(sound(narrow, [](Parts& p) { p.wide.assign(p.narrow.begin(), p.narrow.end()); }));
    CHECK_FALSE(sound(wide, [](Parts& p) { p.wide.push_back(1.0); }));
    for (const double weight : {-1.0, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_FALSE(sound(wide, [&](Parts& p) { p.wide.front() = weight; }));
        CHECK_FALSE(sound(wide, [&](Parts& p) { p.wide.back() = weight; }));
        CHECK_FALSE(sound(sparse, [&](Parts& p) { p.wide.back() = weight; }));
    }
    CHECK_FALSE(sound(sparse, [](Parts& p) {
        p.places.back() = static_cast<std::uint32_t>(p.values.size() * p.n_classes);
    }));
    CHECK_FALSE(sound(sparse, [](Parts& p) { p.places[1] = p.places[0]; }));
    CHECK_FALSE(sound(sparse, [](Parts& p) { std::swap(p.places[1], p.places[0]); }));
}

TEST_CASE("a summary of more classes than memory could hold is judged without being loaded") {
    Parts parts;
    parts.n_classes = std::numeric_limits<std::uint32_t>::max();
    parts.values = {1.0, 2.0};
    parts.places = {0, parts.n_classes - 1};
    parts.wide = {0.0, 0.0, 1.0, 0.5};
    CHECK(parts.packed().sound());
}
