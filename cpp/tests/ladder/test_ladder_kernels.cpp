#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "driftsieve/kernels.hpp"

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
        for (const char* name : {"baseline", "avx2", "avx512"}) {
            const Kernels* kernels = kernels_named(name);
            if (kernels == nullptr) continue;
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
