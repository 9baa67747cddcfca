#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>

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
