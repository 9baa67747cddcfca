#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "driftsieve/ladder/ladder_absorber.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;

namespace {

constexpr std::size_t kRungs = 3;
constexpr std::size_t kClasses = 2;

// Rows of one feature at half-lives of 10, 1000 and infinitely many rows.
class Stream {
  public:
    LadderList list;
    std::vector<tests::Truth> truth{kRungs, tests::Truth(kClasses)};

    explicit Stream(std::uint64_t seed) : source_(seed) {}

    void add(const Config& config, LadderAbsorber& absorber, Kind kind, std::size_t batch,
             std::size_t n) {
        const std::vector<Weighed> rows =
            source_.rows(n, kClasses, kind, tests::Weights::unit, batch);
        std::vector<double> weights;
        for (std::size_t i = 0; i < n; ++i, ++time_)
            for (const double half_life : {10.0, 1000.0, std::numeric_limits<double>::infinity()})
                weights.push_back(std::exp2((time_ - 3000.0) / half_life));
        std::vector<double> values, by_place, total(kRungs, 0.0), all(kRungs);
        std::vector<std::size_t> begin{0};
        for (std::uint32_t c = 0; c < kClasses; ++c) {
            for (std::size_t i = 0; i < n; ++i) {
                if (rows[i].cls != c) continue;
                values.push_back(rows[i].value);
                by_place.insert(by_place.end(), &weights[i * kRungs],
                                &weights[i * kRungs] + kRungs);
            }
            begin.push_back(values.size());
        }
        for (std::size_t r = 0; r < kRungs; ++r) {
            std::vector<Weighed> weighed = rows;
            for (std::size_t i = 0; i < n; ++i) {
                weighed[i].weight = weights[i * kRungs + r];
                total[r] += weighed[i].weight;
            }
            truth[r].add(weighed);
            all[r] = truth[r].total();
        }
        CellMap map;
        std::vector<double> sample(CellMap::sample_size(n));
        for (std::size_t i = 0; i < sample.size(); ++i)
            sample[i] = values[i * CellMap::sample_step(n)];
        map.fit(sample, config.cells());
        std::vector<std::uint32_t> finest(n);
        kernels().finest_cells(values.data(), n, map.rule(), finest.data());
        const BlockColumn column{values.data(), 1, nullptr, nullptr, begin};
        absorber.absorb(list, {column, by_place.data(), total, map, finest.data()}, all);
    }

    std::string fault(double epsilon) const {
        for (std::size_t r = 0; r < kRungs; ++r) {
            Summary summary;
            list.load(r, kRungs, kClasses, summary);
            const std::string found = truth[r].fault(summary, epsilon * truth[r].total(), 1e-12);
            if (!found.empty()) return "half-life " + std::to_string(r) + ", " + found;
        }
        return "";
    }

  private:
    tests::Source source_;
    double time_ = 0.0;
};

}  // namespace

TEST_CASE("a list is a valid summary at each half-life, whatever the values") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    for (const Kind kind : tests::all_kinds()) {
        Stream stream(static_cast<std::uint64_t>(kind));
        for (std::size_t batch = 0; batch < 8; ++batch) {
            stream.add(config, absorber, kind, batch, 400);
            INFO("kind ", static_cast<int>(kind), ", batch ", batch);
            REQUIRE(stream.fault(config.epsilon) == "");
        }
        CHECK(stream.list.size() < 1000);
    }
}

TEST_CASE("lists merge within epsilon at each half-life") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    for (const Kind kind : tests::all_kinds()) {
        std::vector<Stream> parts;
        for (std::size_t k = 0; k < 4; ++k) {
            Stream part(k);
            for (std::size_t batch = 0; batch < 3; ++batch)
                part.add(config, absorber, kind, batch, 300);
            parts.push_back(part);
        }
        for (std::size_t k = 1; k < parts.size(); ++k) {
            std::vector<double> weight(kRungs, 0.0);
            parts[0].list.add_weights(weight);
            parts[k].list.add_weights(weight);
            absorber.absorb(parts[0].list, parts[k].list, weight, kClasses);
            for (std::size_t r = 0; r < kRungs; ++r)
                parts[0].truth[r].add(parts[k].truth[r].rows());
            INFO("kind ", static_cast<int>(kind), ", part ", k);
            REQUIRE(parts[0].fault(config.epsilon) == "");
        }
    }
}

TEST_CASE("few distinct values stay exact") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    Stream stream(1);
    for (std::size_t batch = 0; batch < 8; ++batch)
        stream.add(config, absorber, Kind::few, batch, 400);
    CHECK(stream.fault(0.0) == "");
    CHECK(stream.list.size() == 7);
}
