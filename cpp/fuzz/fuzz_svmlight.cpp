// Arbitrary bytes as svmlight text: no row may depend on how the text is split into pieces, every
// line is a row, blank or a bad row, and memory stays in proportion.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "driftsieve/svmlight/svmlight.hpp"
#include "memory.hpp"

using namespace driftsieve;

namespace {

// For each byte of text, beside the four blocks of 64 KiB (docs/reliability.md).
constexpr std::size_t kMultiple = 64;

struct Flat {
    std::vector<std::uint64_t> numbers;  // of doubles the bits: there is a NaN that equals itself
    std::vector<std::pair<std::size_t, std::string>> bad;
    bool operator==(const Flat&) const = default;

    void add(const SvmlightRows& rows) {
        if (rows.n_rows + rows.bad.size() != rows.n_read) __builtin_trap();
        for (const auto& [place, why] : rows.bad) {
            if (place >= rows.n_read || why.empty()) __builtin_trap();
            bad.emplace_back(rows.lines[place], why);
        }
        std::visit([&](const auto& pattern) { add(rows, pattern); }, rows.pattern);
    }

    template <class Index>
    void add(const SvmlightRows& rows, const CsrPattern<Index>& pattern) {
        if (pattern.indptr[rows.n_rows] != static_cast<Index>(rows.n_pairs)) __builtin_trap();
        for (std::size_t i = 0; i < rows.n_rows; ++i) {
            numbers.push_back(std::bit_cast<std::uint64_t>(rows.labels[i]));
            if (pattern.indptr[i] > pattern.indptr[i + 1]) __builtin_trap();
            for (Index k = pattern.indptr[i]; k < pattern.indptr[i + 1]; ++k) {
                if (pattern.indices[k] < 0) __builtin_trap();
                numbers.push_back(static_cast<std::uint64_t>(pattern.indices[k]));
                numbers.push_back(std::bit_cast<std::uint64_t>(rows.values[k]));
            }
        }
    }
};

Flat parse(std::string_view text, bool zero_based, std::size_t max_line, std::size_t piece,
           std::size_t most_rows) {
    Flat flat;
    SvmlightParser parser(zero_based, max_line);
    for (std::size_t i = 0; i < text.size(); i += piece) {
        parser.feed(text.substr(i, piece));
        while (parser.rows() > most_rows) flat.add(parser.take(most_rows));
    }
    parser.finish();
    while (parser.rows() > 0) flat.add(parser.take(most_rows));
    return flat;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const bool zero_based = (data[0] & 1) != 0;
    const std::size_t max_line = (data[0] & 2) != 0 ? 16 : std::size_t{1} << 20;
    const std::size_t piece = 1 + data[1];
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    const fuzz::Memory memory;
    const Flat whole =
        parse(text, zero_based, max_line, std::max<std::size_t>(1, text.size()), 1000);
    if (parse(text, zero_based, max_line, piece, 3) != whole) __builtin_trap();
    memory.expect_at_most(kMultiple * size + (std::size_t{512} << 10));
    return 0;
}
