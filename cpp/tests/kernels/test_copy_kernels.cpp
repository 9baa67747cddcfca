#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "paths.hpp"
#include "rows.hpp"

using driftsieve::Kernels;
using tests::any_value;
using tests::lengths;
using tests::on_every_path;
using tests::same;
using tests::Source;
using tests::Unaligned;

TEST_CASE(
    "copy_values and copy_past_cache copy only the values, and report those that are not finite") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    on_every_path([&](const Kernels& path) {
        Source source(21);
        for (const auto copy : {path.copy_values, path.copy_past_cache})
            for (const std::size_t n : lengths())
                for (std::size_t ahead = 0; ahead < 9; ++ahead) {
                    Unaligned<double> from(source.below(9), n);
                    Unaligned<double> to(0, ahead + n + 3, 99.0);
                    for (std::size_t i = 0; i < n; ++i) from[i] = any_value(source, false);
                    if (n > 0 && source.below(2) == 0)
                        from[source.below(n)] = source.below(2) == 0   ? std::nan("")
                                                : source.below(2) == 0 ? kInfinity
                                                                       : -kInfinity;
                    bool finite = true;
                    for (const double value : from.copy()) finite = finite && std::isfinite(value);
                    std::vector<double> expected(ahead, 99.0);
                    for (const double value : from.copy()) expected.push_back(value);
                    expected.resize(expected.size() + 3, 99.0);
                    CHECK(copy(from.data(), n, to.data() + ahead) == finite);
                    CHECK(same(to.copy(), expected));
                }
    });
}
