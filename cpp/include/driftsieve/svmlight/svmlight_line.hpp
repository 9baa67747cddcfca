// One line of svmlight text: `label [qid:N] index:value ... # comment`.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "driftsieve/svmlight/decimal.hpp"
#include "driftsieve/svmlight/svmlight_fault.hpp"

namespace driftsieve::svmlight {

struct Row {
    Fault fault = Fault::none;
    const char* token = nullptr;  // where the fault is
    bool blank = false;           // only blanks and a comment
    double label = 0;
    std::size_t n_pairs = 0;
    std::int64_t n_columns = 0;  // one more than the largest column
};

enum Kind : unsigned char { other, blank, line_end };

// White space as in Python's bytes.split(), to agree with scikit-learn; a comment ends a line like
// the newline.
inline constexpr auto kinds = [] {
    std::array<Kind, 256> table{};
    for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) table[c] = blank;
    for (const unsigned char c : {'\n', '#'}) table[c] = line_end;
    return table;
}();

inline Kind kind(char c) noexcept {
    return kinds[static_cast<unsigned char>(c)];
}

inline const char* skip_blanks(const char* p) noexcept {
    while (kind(*p) == blank) ++p;
    return p;
}

inline std::string_view token_at(const char* p) noexcept {
    const char* last = p;
    while (kind(*last) == other) ++last;
    return {p, last};
}

// Largest number of pairs in n bytes: "1:1" and a blank or the newline.
inline constexpr std::size_t most_pairs(std::size_t n) noexcept {
    return n / 4 + 1;
}

// Whether the token is one of the given lower-case words, ignoring sign and case.
inline bool spells(std::string_view token, std::initializer_list<std::string_view> words) {
    if (!token.empty() && (token[0] == '-' || token[0] == '+')) token.remove_prefix(1);
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return std::equal(token.begin(), token.end(), word.begin(), word.end(),
                          [](char a, char b) { return (a | 0x20) == b; });
    });
}

// A value that is not plain finite decimal text. NaN is valid: the caller handles missing values.
[[gnu::cold]] inline Fault odd_value(const char* p, double& value) {
    const std::string_view token = token_at(p);
    if (spells(token, {"nan"})) {
        value = std::numeric_limits<double>::quiet_NaN();
        return Fault::none;
    }
    if (spells(token, {"inf", "infinity"})) return Fault::infinite;
    const char* const last = read_decimal(p, value);
    return last == token.data() + token.size() ? Fault::infinite : Fault::value;
}

// Parses the line at p into arrays with room for most_pairs(length of the line) items. The line
// ends in a newline followed by text_padding bytes. On a fault the arrays are unspecified.
template <class Index>
Row parse_line(const char* p, bool zero_based, Index* indices, double* values) {
    const std::uint64_t first_index = zero_based ? 0 : 1;
    Row row;
    const auto fail = [&row](Fault fault, const char* token) {
        row.fault = fault;
        row.token = token;
        return row;
    };

    const char* token = p = skip_blanks(p);
    if (kind(*p) == line_end) {
        row.blank = true;
        return row;
    }
    p = read_decimal(p, row.label);
    if (p == nullptr || kind(*p) == other || !std::isfinite(row.label)) {
        const bool several = token_at(token).find(',') != std::string_view::npos;
        return fail(several ? Fault::several_labels : Fault::label, token);
    }

    p = skip_blanks(p);
    if (std::string_view(p, 4) == "qid:") {
        token = p;
        std::uint64_t ignored = 0;
        p = decimal::read_digits(p + 4, ignored);
        if (p == token + 4 || kind(*p) == other) return fail(Fault::qid, token);
        p = skip_blanks(p);
    }

    std::int64_t largest = -1;
    std::size_t n = 0;
    for (; kind(*p) != line_end; p = skip_blanks(p), ++n) {
        token = p;
        std::uint64_t index = 0;
        p = decimal::read_digits(p, index);
        if (*p != ':' || p == token) return fail(Fault::pair, token);
        if (p - token > decimal::safe_digits &&
            std::from_chars(token, p, index).ec != std::errc{}) {
            return fail(Fault::index_range, token);
        }
        if (index < first_index) return fail(Fault::zero_index, token);
        const std::uint64_t column = index - first_index;
        if (column >= static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) {
            const bool widest = sizeof(Index) == sizeof(std::int64_t);
            return fail(widest ? Fault::index_range : Fault::wide_index, token);
        }

        double value;
        const char* const text = ++p;
        const unsigned digit = static_cast<unsigned char>(*p) - unsigned{'0'};
        if (digit < 10 && kind(p[1]) != other) {  // mostly the 1 of a binary feature
            value = digit;
            ++p;
        } else {
            p = read_decimal(p, value);
            if (p == nullptr || kind(*p) == other || !std::isfinite(value)) {
                const Fault fault = odd_value(text, value);
                if (fault != Fault::none) return fail(fault, token);
                p = text + token_at(text).size();
            }
        }
        indices[n] = static_cast<Index>(column);
        values[n] = value;
        largest = std::max(largest, static_cast<std::int64_t>(column));
    }
    row.n_pairs = n;
    row.n_columns = largest + 1;
    return row;
}

}  // namespace driftsieve::svmlight
