// What can be wrong with a line of svmlight text, and how it is said.
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
            return "the label " + text + " is not a finite number";
        case Fault::several_labels:
            return "the label " + text + " names several classes, but a row has one";
        case Fault::qid:
            return text + " is not qid:N";
        case Fault::pair:
            return text + " is not index:value";
        case Fault::zero_index:
            return "index 0 in " + text +
                   ", but indices start at 1; pass zero_based=True if they "
                   "start at 0 in this data";
        case Fault::index_range:
            return "the index in " + text + " is too large";
        case Fault::value:
            return "the value in " + text + " is not a number";
        case Fault::infinite:
            return "the value in " + text + " is infinite or too large for float64";
        case Fault::none:
        case Fault::wide_index:
            break;
    }
    return "no fault in " + text;
}

}  // namespace driftsieve::svmlight
