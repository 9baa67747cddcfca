#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/base/archive.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Source;

namespace {

constexpr std::size_t kWidth = 19;

std::vector<std::byte> encode(Bank& bank) {
    Writer writer;
    bank.archive(writer);
    return writer.bytes;
}

// Rows that were written to their place in the bank before they were added, at most `most` at a
// time.
void check_in_place(const Config& config, double half_life, std::size_t most) {
    Source source(most);
    const std::size_t n = 4000;
    std::vector<double> values(n * kWidth);
    for (double& value : values) value = source.bell();
    std::vector<std::uint32_t> classes(n);
    for (std::uint32_t& cls : classes) cls = static_cast<std::uint32_t>(source.below(2));
    const auto matrix = [](const double* first, std::size_t rows) {
        return MatrixView<double>{first, kWidth, 1, rows, kWidth};
    };
    Bank plain(config, Clock::row, half_life);
    Bank in_place(config, Clock::row, half_life);
    plain.update(matrix(values.data(), n), RowInfo{classes, {}, {}}, 2, 1);
    for (std::size_t i = 0, count; i < n; i += count) {
        count = std::min(1 + source.below(most), n - i);
        double* first = nullptr;
        for (std::size_t k = 0; k < count; ++k) {
            double* const row = in_place.place(k, kWidth, most);
            std::copy_n(values.data() + (i + k) * kWidth, kWidth, row);
            if (k == 0) first = row;
        }
        in_place.update(matrix(first, count), RowInfo{classes, {}, {}}.part(i, count), 2, 1);
    }
    CHECK(encode(in_place) == encode(plain));
}

}  // namespace

TEST_CASE("rows written in place equal rows that are copied") {
    constexpr double forever = std::numeric_limits<double>::infinity();
    for (const std::size_t most : {1, 7, 300, 1024, 3500}) {
        check_in_place(Config{0.01, true, false, false}, forever, most);
        check_in_place(Config{0.01, false, true, false}, forever, most);
        check_in_place(Config{0.01, true, true, true}, 50.0, most);
    }
}
