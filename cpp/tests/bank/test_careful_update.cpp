#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/bank/careful_update.hpp"

using namespace driftsieve;

namespace {

constexpr std::size_t kRows = 3 * kPart / 10 + 7;  // several parts
constexpr std::size_t kColumns = 40;

struct Rows {
    std::vector<double> data;
    std::vector<std::int32_t> indices;
    std::vector<std::int32_t> indptr{0};

    Rows() {
        for (std::size_t i = 0; i < kRows; ++i) {
            for (std::size_t k = 0; k < 10; ++k) {
                data.push_back(1.5);
                indices.push_back(static_cast<std::int32_t>(4 * k + i % 4));
            }
            indptr.push_back(static_cast<std::int32_t>(data.size()));
        }
    }
    bool is_sound(unsigned n_threads, bool ignore_missing = false) const {
        return driftsieve::is_sound(
            CsrView<double, std::int32_t>{data.data(), indices.data(), indptr.data(), kRows,
                                          kColumns, false, data.size()},
            ignore_missing, n_threads);
    }
};

}  // namespace

TEST_CASE("a fault of sparse rows is found wherever it is, by any number of threads") {
    Rows rows;
    for (const unsigned n_threads : {1u, 3u}) {
        CHECK(rows.is_sound(n_threads));
        for (const std::size_t at : {std::size_t{0}, kPart - 1, kPart, rows.data.size() - 1}) {
            rows.data[at] = std::nan("");
            CHECK_FALSE(rows.is_sound(n_threads));
            CHECK(rows.is_sound(n_threads, true));
            rows.data[at] = std::numeric_limits<double>::infinity();
            CHECK_FALSE(rows.is_sound(n_threads, true));
            rows.data[at] = 1.5;
        }
        for (const std::size_t row : {std::size_t{0}, kRows / 2, kRows - 1}) {
            std::int32_t& last = rows.indices[10 * row + 9];
            const std::int32_t column = last;
            last = kColumns;
            CHECK_FALSE(rows.is_sound(n_threads));
            last = rows.indices[10 * row + 8];
            CHECK_FALSE(rows.is_sound(n_threads));
            last = column;
            const std::int32_t end = rows.indptr[row + 1];
            rows.indptr[row + 1] = static_cast<std::int32_t>(rows.data.size()) + 1;
            CHECK_FALSE(rows.is_sound(n_threads));
            rows.indptr[row + 1] = end;
        }
        rows.indptr[0] = 1;
        CHECK_FALSE(rows.is_sound(n_threads));
        rows.indptr[0] = 0;
    }
}
