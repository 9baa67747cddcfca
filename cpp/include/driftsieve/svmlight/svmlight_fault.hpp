// Faults of a line of svmlight text, and their messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace driftsieve::svmlight {

enum class Fault {
    none,
    wide_index,  // too large for the index type in use: parse the line again with a wider one
    label,
    several_labels,
    qid,
    pair,
    zero_index,
    index_range,
    value,
    infinite,
};

// The token in quotes, cut to 32 bytes, with bytes that are not printable ASCII as \xNN.
inline std::string quoted(std::string_view token) {
    constexpr std::size_t longest = 32;
    constexpr std::string_view hex = "0123456789abcdef";
    std::string text = "'";
    for (const char c : token.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            text += c;
        } else {
            text += "\\x";
            text += hex[byte >> 4];
            text += hex[byte & 15];
        }
    }
    return text + (token.size() > longest ? "...'" : "'");
}

inline std::string describe(Fault fault, std::string_view token) {
    const std::string text = quoted(token);
    switch (fault) {
        case Fault::label:
            return "The label must be a finite number, got " + text + ".";
        case Fault::several_labels:
            return "The label must be one class, got " + text + ".";
        case Fault::qid:
            return "A query must be qid:N, got " + text + ".";
        case Fault::pair:
            return "A pair must be index:value, got " + text + ".";
        case Fault::zero_index:
            return "The index must be at least 1, got " + text + ".";
        case Fault::index_range:
            return "The index must fit 64 bits, got " + text + ".";
        case Fault::value:
            return "The value must be a number, got " + text + ".";
        case Fault::infinite:
            return "The value must be finite in float64, got " + text + ".";
        case Fault::none:
        case Fault::wide_index:
            break;
    }
    return "no fault in " + text;
}

}  // namespace driftsieve::svmlight
