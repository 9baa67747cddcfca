#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/sparse_records.hpp"

using driftsieve::SparseRecords;

namespace {

bool add(SparseRecords& records, std::size_t column, std::size_t cls, double value, double weight,
         std::uint32_t rows = 1) {
    const SparseRecords::OfRow row(records, cls, weight, rows);
    return row.add(row.entry(column), std::bit_cast<std::uint64_t>(value));
}

bool is_current(SparseRecords& records, std::size_t column) {
    const SparseRecords::OfRow row(records, 0, 1.0, 1);
    return row.is_current(row.entry(column));
}

SparseRecords seven_columns() {
    SparseRecords records(7);
    records.make_room_for(2);
    records.admit(5, 3.0);
    records.admit(2, -1.0);
    add(records, 5, 1, 3.0, 0.5);
    add(records, 5, 1, 4.0, 0.25);
    return records;
}

}  // namespace

TEST_CASE("the first value of a column is its atom, and only the atom's weight is added") {
    SparseRecords records = seven_columns();
    const std::uint32_t slot = records.slot_of(5);
    CHECK(records.column_of(slot) == 5);
    CHECK(records.atom(slot) == 3.0);
    CHECK(records.weight(slot, 1) == 0.5);
    CHECK(records.rows(slot, 1) == 2);
    CHECK(records.weight(slot, 0) == 0.0);
    CHECK(records.rows(slot, 0) == 0);
    CHECK(records.atom(records.slot_of(2)) == -1.0);
    CHECK_FALSE(records.seen(0));
    CHECK_FALSE(is_current(records, 0));
}

TEST_CASE("where a missing value came first no value is the atom") {
    SparseRecords records(1);
    records.make_room_for(1);
    const double missing = std::numeric_limits<double>::quiet_NaN();
    records.admit(0, missing);
    CHECK_FALSE(add(records, 0, 0, missing, 1.0));
    CHECK_FALSE(add(records, 0, 0, 2.0, 1.0));
    CHECK(records.weight(0, 0) == 0.0);
    CHECK(records.rows(0, 0) == 2);
}

TEST_CASE("a record comes to a later epoch when it is next admitted") {
    SparseRecords records = seven_columns();
    const std::uint32_t slot = records.slot_of(5);
    records.advance(2);
    CHECK_FALSE(is_current(records, 5));
    CHECK(records.weight(slot, 1) == 0.5);
    CHECK(records.admit(5, 9.0) == slot);
    CHECK(is_current(records, 5));
    CHECK(records.atom(slot) == 3.0);
    CHECK(records.weight(slot, 1) == 0.5 * 0x1p-512);
    CHECK(records.rows(slot, 1) == 2);
    CHECK_FALSE(is_current(records, 2));
    CHECK(records.epoch(records.slot_of(2)) == 0);
}

TEST_CASE("room for more classes changes nothing that is there") {
    for (const std::size_t n_classes : {3UL, 4UL, 5UL, 100UL}) {
        SparseRecords records = seven_columns();
        records.make_room_for(n_classes);
        CHECK(add(records, 2, n_classes - 1, -1.0, 2.0));
        CHECK(records.weight(records.slot_of(5), 1) == 0.5);
        CHECK(records.rows(records.slot_of(5), 1) == 2);
        CHECK(records.weight(records.slot_of(2), n_classes - 1) == 2.0);
        CHECK(records.weight(records.slot_of(2), 0) == 0.0);
    }
}

TEST_CASE("a count of rows stops at the largest there is") {
    SparseRecords records = seven_columns();
    const std::uint32_t slot = records.slot_of(5);
    records.add(slot, 0, 0.0, SparseRecords::kMostRows - 1);
    records.add(slot, 0, 0.0, 5);
    CHECK(records.rows(slot, 0) == SparseRecords::kMostRows);
    add(records, 5, 0, 3.0, 1.0, 0);
    CHECK(records.rows(slot, 0) == SparseRecords::kMostRows);
}

TEST_CASE("a part has the records of its columns, each of its own epoch") {
    SparseRecords records = seven_columns();
    records.advance(1);
    records.admit(2, -1.0);
    const SparseRecords part = records.cut(2, 4);
    CHECK(part.n_columns() == 4);
    CHECK(part.n_slots() == 2);
    CHECK(part.atom(part.slot_of(3)) == 3.0);
    CHECK(part.weight(part.slot_of(3), 1) == 0.5);
    CHECK(part.epoch(part.slot_of(3)) == 0);
    CHECK(part.epoch(part.slot_of(0)) == 1);
    CHECK(records.cut(3, 2).n_slots() == 0);
}

namespace {

// Every other column of the first 2 * n, from high to low; and one far away.
SparseRecords every_other(std::size_t n) {
    SparseRecords records(100 * n);
    records.make_room_for(2);
    records.admit(99 * n, 7.0);
    for (std::size_t j = 2 * n; j > 0; j -= 2) {
        const std::uint32_t slot = records.admit(j - 2, static_cast<double>(j));
        records.add(slot, 1, 0.5 * static_cast<double>(j), j);
        records.rest(slot) = static_cast<std::uint32_t>(j);
    }
    return records;
}

}  // namespace

TEST_CASE("columns that are put in order keep what is known of them") {
    SparseRecords records = every_other(100);
    const std::uint32_t far = records.slot_of(9900);
    const std::uint32_t tenth = records.slot_of(10);
    std::vector<std::size_t> columns{0, 10, 11, 197, 9900};
    CHECK(records.count_in_order(columns.data(), columns.size()) == 0);
    const std::vector<std::uint32_t> moved = records.put_in_order();
    CHECK(records.count_in_order(columns.data(), columns.size()) == 4);
    CHECK(moved[far] == 200);  // after those in order
    CHECK(moved[tenth] == 10);
    CHECK(records.n_slots() == 201);
    CHECK(records.slot_of(9900) == 200);
    CHECK(records.atom(200) == 7.0);
    for (std::uint32_t j = 0; j < 200; ++j) {
        CHECK(records.slot_of(j) == j);
        CHECK(records.column_of(j) == j);
        CHECK(records.seen(j) == (j % 2 == 0));
        CHECK(records.atom(j) == (j % 2 == 0 ? j + 2.0 : 0.0));
        CHECK(records.weight(j, 1) == (j % 2 == 0 ? 0.5 * (j + 2.0) : 0.0));
        CHECK(records.rows(j, 1) == (j % 2 == 0 ? j + 2 : 0));
        CHECK(records.rest(j) == (j % 2 == 0 ? j + 2 : 0));
    }
    CHECK(records.put_in_order().empty());
}

TEST_CASE("a row of columns in order adds what the slow way adds") {
    SparseRecords records = every_other(100);
    SparseRecords slow = records;
    records.put_in_order();
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    for (std::int32_t j = 0; j < 199; j += 3) {
        columns.push_back(j);
        values.push_back(j % 4 == 0 ? j + 2.0 : -1.0);  // the atom, another value, or an unseen one
    }
    for (const std::int64_t epoch : {0, 1, 3}) {
        records.advance(epoch);
        slow.advance(epoch);
        for (const std::uint32_t rows : {1U, 0U}) {
            std::vector<std::uint32_t> missed(columns.size());
            records.rebase_in_order(columns.data(), columns.size());
            missed.resize(records.add_in_order(1, 0.25, rows, values.data(), columns.data(),
                                               columns.size(), 0, missed.data()));
            std::vector<std::uint32_t> expected;
            for (std::uint32_t k = 0; k < columns.size(); ++k) {
                const auto column = static_cast<std::size_t>(columns[k]);
                if (columns[k] % 2 == 0) slow.admit(column, 0.0);
                if (columns[k] % 2 != 0 || !add(slow, column, 1, values[k], 0.25, rows))
                    expected.push_back(k);
            }
            CHECK(missed == expected);
        }
        for (std::int32_t j = 0; j < 199; j += 6) {
            const auto slot = static_cast<std::uint32_t>(j);
            const std::uint32_t same = slow.slot_of(slot);
            CHECK(records.epoch(slot) == epoch);
            CHECK(records.weight(slot, 1) == slow.weight(same, 1));
            CHECK(records.rows(slot, 1) == slow.rows(same, 1));
        }
    }
}

TEST_CASE("a row that was counted can be taken back") {
    SparseRecords records = seven_columns();
    records.uncount(records.slot_of(5), 1, 1);
    CHECK(records.rows(records.slot_of(5), 1) == 1);
}

TEST_CASE("a part of columns in order is in order, and as blank as they were") {
    SparseRecords records = every_other(100);
    records.put_in_order();
    const SparseRecords part = records.cut(50, 100);
    std::vector<std::size_t> columns{0, 51, 99};
    CHECK(part.count_in_order(columns.data(), columns.size()) == 3);
    for (std::uint32_t j = 0; j < 100; ++j) {
        CHECK(part.seen(j) == records.seen(j + 50));
        CHECK(part.atom(j) == records.atom(j + 50));
    }
}
