#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "driftsieve/ladder/ladder_cells.hpp"
#include "paths.hpp"

using namespace driftsieve;

TEST_CASE("what is hidden is packed to no less, on every code path alike") {
    for (std::size_t rungs = 2; rungs <= kMostRungs; ++rungs) {
        constexpr std::size_t n = 110;
        std::mt19937_64 random(rungs);
        std::uniform_real_distribution<double> uniform;
        std::vector<double> lines(n * rungs), unit(rungs, 0x1p-200), per_unit(rungs, 0x1p200);
        for (double& number : lines) number = uniform(random) * 0x1p-200;
        lines[0] = 0.0;
        lines[1] = 0x1p-900;
        lines[2] = 0x1p-200;
        std::vector<float> first;
        for (const Kernels* kernels : tests::paths()) {
            std::vector<float> packed(n * rungs);
            std::vector<double> back(n * rungs);
            kernels->ladder->pack(rungs, lines.data(), n, per_unit.data(), packed.data());
            kernels->ladder->unpack(rungs, packed.data(), n, unit.data(), back.data());
            if (first.empty()) first = packed;
            CHECK(packed == first);
            bool sound = back[0] == 0.0 && back[2] == lines[2];
            for (std::size_t i = 2; i < back.size(); ++i)
                sound = sound && back[i] >= lines[i] && back[i] <= lines[i] * (1.0 + 0x1p-22);
            CHECK(sound);
            CHECK(back[1] >= lines[1]);
            std::vector<float> again(n * rungs);
            kernels->ladder->pack(rungs, back.data(), n, per_unit.data(), again.data());
            CHECK(again == packed);
        }
    }
}

TEST_CASE("every code path adds cells alike, and leaves those that are too full") {
    constexpr std::size_t n_cells = 37;
    for (std::size_t rungs = 2; rungs <= kMostRungs; ++rungs) {
        const std::size_t n_classes = 1 + rungs % kFewClasses;
        const std::size_t room = n_classes * LadderKernels::room_of(n_cells, rungs);
        std::mt19937_64 random(rungs);
        std::vector<double> block(room), earlier(room);
        for (double& number : block) number = static_cast<double>(random() % 8);
        for (double& number : earlier) number = static_cast<double>(random() % 8);
        const std::vector<double> most(rungs, 13.0 * static_cast<double>(n_classes));
        const double sum_before = std::accumulate(block.begin(), block.end(), 0.0) +
                                  std::accumulate(earlier.begin(), earlier.end(), 0.0);
        std::vector<double> first_cells, first_lines;
        for (const Kernels* kernels : tests::paths()) {
            std::vector<double> from = block, cells = earlier, lines((n_cells + 1) * room);
            std::vector<std::uint16_t> taken(n_cells + 1);
            const std::size_t n =
                kernels->ladder->add_cells(rungs, from.data(), n_cells, n_classes, most.data(),
                                           cells.data(), taken.data(), lines.data());
            lines.resize(n * n_classes * rungs);
            if (first_cells.empty()) {
                first_cells = cells;
                first_lines = lines;
            }
            CHECK(cells == first_cells);
            CHECK(lines == first_lines);
            CHECK(n > 0);
            CHECK(n < n_cells);
            CHECK(taken[n - 1] == n_cells - 1);  // the outermost is always left
            double padding = 0.0;
            for (std::size_t c = 0; c < n_classes; ++c)
                for (std::size_t k = n_cells * rungs; k < room / n_classes; ++k)
                    padding += block[c * (room / n_classes) + k];
            CHECK(std::accumulate(from.begin(), from.end(), 0.0) == padding);
            CHECK(std::accumulate(cells.begin(), cells.end(), 0.0) +
                      std::accumulate(lines.begin(), lines.end(), 0.0) + padding ==
                  sum_before);
        }
    }
}

TEST_CASE("cells are scaled, stored and added up at each half-life") {
    for (const std::size_t rungs : {3, 8, 9, 16}) {
        std::vector<double> sample(200);
        for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<double>(i * i);
        CellMap map;
        REQUIRE(map.fit(sample, 20, 16));
        LadderCells cells(rungs);
        cells.begin(map, 2);
        std::vector<double> line(2 * rungs), factors(rungs), total(rungs), found(2 * rungs);
        for (std::size_t k = 0; k < line.size(); ++k) line[k] = static_cast<double>(k + 1);
        for (std::size_t r = 0; r < rungs; ++r) factors[r] = static_cast<double>(r + 1);
        cells.put(2, line.data());
        cells.put(5, line.data());
        cells.scale(factors);
        cells.check(2, rungs);
        cells.get(5, found.data());
        cells.add_weights(total);
        for (std::size_t r = 0; r < rungs; ++r) {
            CHECK(found[r] == line[r] * factors[r]);
            CHECK(total[r] == 2.0 * factors[r] * (line[r] + line[rungs + r]));
        }
    }
}
