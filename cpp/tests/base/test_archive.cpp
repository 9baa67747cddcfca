#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/base/archive.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;
using tests::Source;

namespace {

using Bytes = std::vector<std::byte>;

Bytes encode(Bank& bank) {
    Writer writer;
    bank.archive(writer);
    return writer.bytes;
}

Bank decode(std::span<const std::byte> bytes) {
    Bank bank;
    Reader reader(bytes);
    bank.archive(reader);
    reader.expect_end();
    bank.check();
    return bank;
}

// Returns "" if the bytes are accepted, otherwise the message; other exceptions propagate.
std::string refusal(std::span<const std::byte> bytes) {
    try {
        decode(bytes);
        return "";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

constexpr double kForEver = std::numeric_limits<double>::infinity();

Bank dense_bank(double half_life, std::size_t n_classes, std::size_t n_rows) {
    Source source(1);
    std::vector<double> values(2 * n_rows);
    for (double& value : values) value = source.bell();
    std::vector<std::uint32_t> classes(n_rows);
    for (std::uint32_t& cls : classes) cls = static_cast<std::uint32_t>(source.below(n_classes));
    for (std::size_t i = 0; i < n_rows; ++i) values[2 * i + 1] += 3.0 * classes[i];
    Bank bank(Config{0.2}, Clock::row, half_life);
    bank.update(MatrixView<double>{values.data(), 2, 1, n_rows, 2}, RowInfo{classes, {}, {}},
                n_classes, 1);
    return bank;
}

Bank sparse_bank(double half_life, std::size_t n_rows, const Config& config = Config{0.2}) {
    Source source(2);
    constexpr std::size_t width = 6;
    std::vector<double> data;
    std::vector<std::int32_t> indices, indptr{0};
    std::vector<std::uint32_t> classes;
    for (std::size_t i = 0; i < n_rows; ++i) {
        classes.push_back(static_cast<std::uint32_t>(source.below(3)));
        for (std::size_t j = 0; j + 1 < width; ++j) {
            if (source.below(2) == 0) continue;
            indices.push_back(static_cast<std::int32_t>(j));
            data.push_back(j < 3 ? 1.0 : source.bell());
            if (j == 4 && config.ignore_missing && source.below(3) == 0) data.back() = std::nan("");
        }
        indptr.push_back(static_cast<std::int32_t>(data.size()));
    }
    Bank bank(config, Clock::row, half_life);
    bank.update(
        CsrView<double, std::int32_t>{data.data(), indices.data(), indptr.data(), n_rows, width},
        RowInfo{classes, {}, {}}, 3, 1);
    return bank;
}

std::vector<Bank> banks() {
    std::vector<Bank> banks;
    banks.emplace_back();
    banks.push_back(dense_bank(kForEver, 2, 10));
    banks.push_back(dense_bank(kForEver, 3, 1620));
    banks.push_back(dense_bank(500.0, 3, 1620));
    banks.push_back(dense_bank(kForEver, 30, 1620));
    banks.push_back(sparse_bank(kForEver, 50));
    banks.push_back(sparse_bank(1.0, 400));  // some of it in summaries
    banks.push_back(sparse_bank(kForEver, 50, Config{0.2, true, false, false}));
    banks.push_back(sparse_bank(1.0, 600, Config{0.2, true, false, true}));
    return banks;
}

}  // namespace

TEST_CASE("written states are read bit for bit") {
    for (Bank& bank : banks()) {
        const Bytes bytes = encode(bank);
        Bank again = decode(bytes);
        CHECK(encode(again) == bytes);
    }
}

TEST_CASE("bytes that end too early are refused, wherever they end") {
    for (Bank& bank : banks()) {
        const Bytes bytes = encode(bank);
        std::size_t taken = 0;
        for (std::size_t end = 0; end < bytes.size(); ++end)
            taken +=
                refusal({bytes.data(), end}) == "the bytes end in the middle of a bank" ? 0 : 1;
        CHECK(taken == 0);
    }
}

TEST_CASE("bytes after the end are refused") {
    for (Bank& bank : banks()) {
        Bytes bytes = encode(bank);
        for (int more = 0; more < 9; ++more) {
            bytes.push_back(std::byte{0});
            CHECK(refusal(bytes) == "there are extra bytes after the end of the bank");
        }
    }
}

TEST_CASE("a changed byte is refused or makes another bank that can be cut and written") {
    Source source(3);
    for (Bank& bank : banks()) {
        const Bytes bytes = encode(bank);
        for (std::size_t round = 0; round < 3000; ++round) {
            Bytes changed = bytes;
            changed[source.below(bytes.size())] = static_cast<std::byte>(source.below(256));
            if (refusal(changed) != "") continue;
            Bank other = decode(changed);
            CHECK(refusal(encode(other)) == "");
            Bank part = other.cut(0, other.n_features() / 2);
            CHECK(refusal(encode(part)) == "");
        }
    }
}
