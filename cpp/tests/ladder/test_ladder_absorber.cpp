#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driftsieve/ladder/ladder_absorber.hpp"
#include "driftsieve/ladder/ladder_cutter.hpp"
#include "driftsieve/quantiles/bin_cutter.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;

namespace {

constexpr std::size_t kRungs = 3;
constexpr std::size_t kClasses = 2;

// A block of rows of one feature at half-lives of 10, 1000 and infinitely many rows.
struct Block {
    std::vector<double> values, weights, total;
    std::vector<std::size_t> begin{0};
    std::vector<std::vector<Weighed>> rows;  // at each half-life

    Block(tests::Source& source, Kind kind, std::size_t batch, std::size_t n, double time)
        : total(kRungs, 0.0) {
        const std::vector<Weighed> all =
            source.rows(n, kClasses, kind, tests::Weights::unit, batch);
        rows.assign(kRungs, all);
        for (std::uint32_t c = 0; c < kClasses; ++c) {
            for (std::size_t i = 0; i < n; ++i) {
                if (all[i].cls != c) continue;
                values.push_back(all[i].value);
                for (std::size_t r = 0; r < kRungs; ++r) {
                    const double half_lives[] = {10.0, 1000.0,
                                                 std::numeric_limits<double>::infinity()};
                    rows[r][i].weight =
                        std::exp2((time + static_cast<double>(i) - 3000.0) / half_lives[r]);
                    weights.push_back(rows[r][i].weight);
                    total[r] += weights.back();
                }
            }
            begin.push_back(values.size());
        }
    }

    // use(column) with the values in these cells, or in new ones.
    template <class Use>
    void with_column(const LadderCells* cells, const Config& config, const Use& use) const {
        CellMap map;
        std::vector<double> sample(CellMap::sample_size(values.size()));
        for (std::size_t i = 0; i < sample.size(); ++i)
            sample[i] = values[i * CellMap::sample_step(values.size())];
        map.fit(sample, LadderAbsorber::cells(config));
        if (cells != nullptr) map = cells->map();
        std::vector<std::uint32_t> finest(values.size());
        kernels().finest_cells(values.data(), values.size(), map.rule(), finest.data());
        const BlockColumn column{values.data(), 1, nullptr, nullptr, begin};
        use(LadderColumn{column, weights.data(), total, map, finest.data()});
    }
};

class Truth {
  public:
    void add(const Block& block) {
        for (std::size_t r = 0; r < kRungs; ++r) of_rung_[r].add(block.rows[r]);
    }
    void add(const Truth& other) {
        for (std::size_t r = 0; r < kRungs; ++r) of_rung_[r].add(other.of_rung_[r].rows());
    }
    std::vector<double> total() const {
        std::vector<double> total;
        for (const tests::Truth& truth : of_rung_) total.push_back(truth.total());
        return total;
    }
    std::string fault(const LadderList& list, double epsilon) const {
        for (std::size_t r = 0; r < kRungs; ++r) {
            Summary summary;
            list.load(r, kRungs, kClasses, summary);
            const std::string found =
                of_rung_[r].fault(summary, epsilon * of_rung_[r].total(), 1e-12);
            if (!found.empty()) return "half-life " + std::to_string(r) + ", " + found;
        }
        return "";
    }

  private:
    std::vector<tests::Truth> of_rung_{kRungs, tests::Truth(kClasses)};
};

// Blocks in one list.
class Stream {
  public:
    LadderList list;
    Truth truth;

    explicit Stream(std::uint64_t seed) : source_(seed) {}

    void add(const Config& config, LadderAbsorber& absorber, Kind kind, std::size_t batch,
             std::size_t n) {
        const Block block(source_, kind, batch, n, time_);
        time_ += static_cast<double>(n);
        truth.add(block);
        block.with_column(nullptr, config, [&](const LadderColumn& values) {
            absorber.absorb(list, values, truth.total());
        });
    }

    std::string fault(double epsilon) const { return truth.fault(list, epsilon); }

  private:
    tests::Source source_;
    double time_ = 0.0;
};

// Blocks that a feature counts, while the next one waits.
class CountedStream {
  public:
    LadderList list;
    std::vector<LadderCells> counting;

    explicit CountedStream(std::uint64_t seed) : source_(seed) {}

    void add(const Config& config, LadderAbsorber& absorber, Kind kind, std::size_t batch,
             std::size_t n) {
        Block block(source_, kind, batch, n, time_);
        time_ += static_cast<double>(n);
        truth_.add(block);
        if (!waiting_.empty())
            waiting_[0].with_column(
                LadderAbsorber::used(counting), config, [&](const LadderColumn& values) {
                    absorber.absorb(list, counting, values, truth_.total(), block.total);
                });
        waiting_.assign(1, std::move(block));
    }

    // Of all that is read, with the block that waits.
    std::string fault(const Config& config, LadderAbsorber& absorber, double epsilon) const {
        LadderList whole;
        waiting_[0].with_column(LadderAbsorber::used(counting), config,
                                [&](const LadderColumn& values) {
                                    absorber.read(list, counting, &values, kClasses, whole);
                                });
        return truth_.fault(whole, epsilon);
    }

    // Cuts all, with the block that waits: the list, the cells and its values are in `everything`,
    // at each half-life, as a summary.
    bool cut(const Config& config, LadderCutter& cutter, LadderBins& bins,
             std::vector<Summary>& everything) const {
        const LadderCells* cells = LadderAbsorber::used(counting);
        if (cells == nullptr) return false;
        waiting_[0].with_column(cells, config, [&](const LadderColumn& values) {
            cutter.cut(list, *cells, &values, kClasses, bins);
        });
        for (std::size_t r = 0; r < kRungs; ++r) {
            std::map<double, std::vector<double>> found;
            const auto add = [&](double value, std::size_t cls, double weight) {
                std::vector<double>& of = found.try_emplace(value, kClasses, 0.0).first->second;
                of[cls] += weight;
            };
            Summary of_list;
            list.load(r, kRungs, kClasses, of_list);
            for (std::size_t i = 0; i < of_list.size(); ++i)
                for (std::size_t c = 0; c < kClasses; ++c)
                    add(of_list.values[i], c, of_list.of(i)[c]);
            for (const Weighed& row : waiting_[0].rows[r]) add(row.value, row.cls, row.weight);
            std::vector<double> line(kClasses * kRungs);
            for (std::size_t m = 1; m + 1 < cells->n_cells(); ++m) {
                cells->get(m, line.data());
                for (std::size_t c = 0; c < cells->n_classes(); ++c)
                    add(cells->map().upper(m), c, line[c * kRungs + r]);
            }
            Summary& summary = everything.emplace_back();
            summary.reset(found.size(), kClasses);
            std::size_t i = 0;
            for (const auto& [value, weights] : found) {
                summary.values[i] = value;
                summary.hidden[i] = 0.0;
                std::copy(weights.begin(), weights.end(), summary.of(i++));
            }
        }
        return true;
    }

  private:
    tests::Source source_;
    Truth truth_;
    std::vector<Block> waiting_;
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
            parts[0].truth.add(parts[k].truth);
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

TEST_CASE("counted blocks are a valid summary at each half-life, whatever the values") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    for (const Kind kind : tests::all_kinds()) {
        CountedStream stream(static_cast<std::uint64_t>(kind));
        for (std::size_t batch = 0; batch < 10; ++batch) {
            stream.add(config, absorber, kind, batch, 150 + 50 * (batch % 3));
            INFO("kind ", static_cast<int>(kind), ", batch ", batch);
            REQUIRE(stream.fault(config, absorber, config.epsilon) == "");
        }
        CHECK(stream.list.size() < 1000);
    }
}

TEST_CASE("cells, list and waiting rows are cut as one sorted list of all they hold") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    std::size_t n_cut = 0;
    for (const std::size_t n_bins : {2, 5, 20}) {
        LadderCutter cutter(kRungs, n_bins);
        for (const Kind kind : tests::all_kinds()) {
            CountedStream stream(static_cast<std::uint64_t>(kind));
            for (std::size_t batch = 0; batch < 6; ++batch) {
                stream.add(config, absorber, kind, batch, 150 + 50 * (batch % 3));
                LadderBins bins;
                std::vector<Summary> everything;
                if (!stream.cut(config, cutter, bins, everything)) continue;
                for (std::size_t r = 0; r < kRungs; ++r) {
                    INFO("kind ", static_cast<int>(kind), ", batch ", batch, ", half-life ", r);
                    const std::vector<std::uint32_t> place{0, 1};
                    std::vector<double> edges(n_bins - 1), wanted(n_bins * kClasses);
                    Column column;
                    column.reset(kClasses);
                    column.summary = everything[r];
                    BinCutter().cut(column, {place, n_bins, 1.0, edges.data(), wanted.data()});
                    const CutBins found = bins.at(r);
                    for (std::size_t e = 0; e < edges.size(); ++e)
                        CHECK(found.edges[e] == edges[e]);
                    for (std::size_t k = 0; k < wanted.size(); ++k)
                        CHECK(found.bins[k] == doctest::Approx(wanted[k]).epsilon(1e-12));
                }
                ++n_cut;
            }
        }
    }
    CHECK(n_cut > 50);
}

TEST_CASE("a feature counts values like those before into the same cells") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    CountedStream stream(1);
    for (std::size_t batch = 0; batch < 2; ++batch)
        stream.add(config, absorber, Kind::bell, 0, 400);
    REQUIRE(LadderAbsorber::used(stream.counting) != nullptr);
    const std::size_t bytes = stream.counting[0].nbytes();
    for (std::size_t batch = 0; batch < 20; ++batch) {
        stream.add(config, absorber, Kind::bell, 0, 400);
        REQUIRE(LadderAbsorber::used(stream.counting) != nullptr);
        CHECK(stream.counting[0].nbytes() == bytes);
        CHECK(stream.list.size() <= 2 * config.exact_values());
    }
}

TEST_CASE("few distinct values are not counted into cells") {
    const Config config{0.02, true, true, false};
    LadderAbsorber absorber(config, kRungs);
    CountedStream stream(1);
    for (std::size_t batch = 0; batch < 8; ++batch)
        stream.add(config, absorber, Kind::few, batch, 400);
    CHECK(LadderAbsorber::used(stream.counting) == nullptr);
    CHECK(stream.fault(config, absorber, 0.0) == "");
}
