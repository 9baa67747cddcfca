#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/sparse/sparse_page.hpp"

using namespace driftsieve;

namespace {

const Config kConfig{.epsilon = 0.02};

}  // namespace

TEST_CASE("a record keeps its numbers in another layout") {
    const RecordLayout narrow(2);
    CHECK(narrow.bytes() == 32);
    for (const std::size_t n_classes : {2UL, 3UL, 5UL, 100UL})
        for (const Squares squares : {Squares::none, Squares::together, Squares::by_class}) {
            SparsePage page;
            for (const std::size_t place : {7UL, 3UL, 63UL}) {
                page.admit(place, 0.5 + static_cast<double>(place), false, narrow);
                narrow.add(page.record(place, narrow), 1, 4.0, 4);
            }
            const RecordLayout wide(n_classes, squares);
            page.lay_out(narrow, wide);
            const std::byte* record = page.record(63, wide);
            CHECK(wide.value(record) == 63.5);
            CHECK(wide.weight(record, 1) == 4.0);
            CHECK(wide.rows(record, 1) == (squares == Squares::none ? 4 : 0));
            if (squares != Squares::none) CHECK(wide.squared(record, place_in(squares, 1)) == 4.0);
            CHECK(wide.weight(record, n_classes - 1) == (n_classes == 2 ? 4.0 : 0.0));
        }
}

TEST_CASE("a count of rows stops at the largest there is") {
    const RecordLayout layout;
    SparsePage page;
    page.admit(0, 1.0, false, layout);
    layout.add(page.record(0, layout), 0, 0.0, RecordLayout::kMostRows - 1);
    layout.add(page.record(0, layout), 0, 0.0, 5);
    CHECK(layout.rows(page.record(0, layout), 0) == RecordLayout::kMostRows);
}

TEST_CASE("a missing value is no atom, and zero is one only where zeros count") {
    const RecordLayout layout;
    SparsePage page;
    page.admit(0, std::nan(""), true, layout);
    page.admit(1, -0.0, true, layout);
    page.admit(2, 0.0, false, layout);
    CHECK_FALSE(SparsePage::has_atom(layout.value(page.record(0, layout))));
    CHECK(layout.value(page.record(1, layout)) == 0.0);
    CHECK_FALSE(std::signbit(layout.value(page.record(1, layout))));
    CHECK_FALSE(SparsePage::has_atom(layout.value(page.record(2, layout))));
}

TEST_CASE("a page sums up complete blocks of a column and keeps its other values") {
    const RecordLayout layout;
    SparsePage page;
    PageScratch scratch;
    std::vector<SparsePage::Mark> marks;
    page.admit(5, 1.0, false, layout);
    page.admit(9, 1.0, false, layout);
    const std::size_t block = kConfig.long_run();
    for (std::size_t i = 0; i < 2 * block + 7; ++i) {
        const double weight = 4.0 * static_cast<double>(i + 1);
        if (page.append(5, i % 2, 2.0 + static_cast<double>(i), 1.0, block))
            marks.push_back({5, 2, weight});
        if (i % 4 == 0) CHECK_FALSE(page.append(9, 0, i % 8 == 0 ? std::nan("") : 3.0, 1.0, block));
    }
    REQUIRE(marks.size() == 2);
    page.sum_up(marks, block, kConfig, scratch);
    REQUIRE(page.summed.size() == 1);
    REQUIRE(page.state_of(5) != nullptr);
    CHECK(page.state_of(5)->held() == static_cast<double>(2 * block));
    CHECK(page.log.size() == 7 + (2 * block + 7 + 3) / 4);
    CHECK(page.waiting[5] == 7);
    CHECK(page.waiting[9] == (2 * block + 7 + 3) / 4);
    CHECK(page.weights.empty());

    // two blocks at once are summed up as one after the other
    SparsePage other;
    other.admit(5, 1.0, false, layout);
    for (std::size_t i = 0; i < 2 * block; ++i)
        if (other.append(5, i % 2, 2.0 + static_cast<double>(i), 1.0, block))
            other.sum_up(std::span(marks).subspan(i / block, 1), block, kConfig, scratch);
    Summary ours, theirs, held, more;
    page.state_of(5)->load(2, ours, held, more);
    other.state_of(5)->load(2, theirs, held, more);
    CHECK(ours.values == theirs.values);
    CHECK(ours.weights == theirs.weights);
    CHECK(ours.hidden == theirs.hidden);
}

TEST_CASE("missing values of a block are counted and not summed up") {
    const RecordLayout layout;
    SparsePage page;
    PageScratch scratch;
    page.admit(5, 1.0, false, layout);
    for (std::size_t i = 0; i < 10; ++i)
        page.append(5, 1, i % 2 == 0 ? std::nan("") : 3.0, 0.5, SparsePage::kNoBlocks);
    page.sum_up_most(10, {0, 2, 100.0}, kConfig, scratch);
    REQUIRE(page.state_of(5) != nullptr);
    CHECK(page.state_of(5)->of(1).missing == 2.5);
    CHECK(page.state_of(5)->of(1).missing_squared == 1.25);
    CHECK(page.state_of(5)->summary.weight() == 2.5);
    CHECK(page.log.empty());
    CHECK(page.weights.empty());
}

TEST_CASE("a page comes to a later epoch as a whole, and one without columns for nothing") {
    const RecordLayout layout(2, Squares::together);
    SparsePage page;
    Summary scratch;
    page.rebase(-7, layout, scratch);
    CHECK(page.epoch == -7);
    page.admit(1, 3.0, false, layout);
    layout.add(page.record(1, layout), 1, 0.5, 0);
    page.append(1, 0, 4.0, 1.0, SparsePage::kNoBlocks);
    page.rebase(-5, layout, scratch);
    CHECK(layout.weight(page.record(1, layout), 1) == 0.5 * 0x1p-512);
    CHECK(page.weights == std::vector<double>{0x1p-512});
}
