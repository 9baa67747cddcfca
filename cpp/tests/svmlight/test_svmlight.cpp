#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "driftsieve/svmlight/svmlight.hpp"

using driftsieve::SvmlightParser;
using driftsieve::SvmlightRows;

namespace {

constexpr std::size_t max_line = 1 << 20;

// Rows as text again, so that they can be compared: "label column:value ...", then what is bad.
std::string show(const SvmlightRows& rows) {
    std::string text;
    const auto show_good = [&](const auto& pattern) {
        for (std::size_t i = 0; i < rows.n_rows; ++i) {
            text += std::to_string(rows.labels[i]);
            for (auto j = pattern.indptr[i]; j < pattern.indptr[i + 1]; ++j) {
                text += ' ' + std::to_string(pattern.indices[j]);
                text += ':' + std::to_string(rows.values[j]);
            }
            text += '\n';
        }
    };
    std::visit(show_good, rows.pattern);
    for (const auto& [place, why] : rows.bad) {
        text += "line " + std::to_string(rows.lines[place]) + ": " + why + '\n';
    }
    return text;
}

std::string parse(const std::string& text) {
    SvmlightParser parser(false, max_line);
    parser.feed(text);
    parser.finish();
    return show(parser.take(parser.rows()));
}

}  // namespace

TEST_CASE("rows can be taken in parts between pieces of text") {
    SvmlightParser parser(false, max_line);
    std::string all, expected;
    for (int i = 0; i < 500; ++i) {
        const std::string line =
            "1 " + std::to_string(i + 1) + ":2 " + std::to_string(i + 2) + ":3\n";
        expected += parse(line);
        parser.feed(line);
        if (i % 3 == 0) all += show(parser.take(2));
    }
    all += show(parser.take(1'000'000));
    CHECK(all == expected);
    CHECK(parser.rows() == 0);
    CHECK(parser.take(5).n_rows == 0);
}

TEST_CASE("wide indices widen the rows that wait, and only those") {
    SvmlightParser parser(false, max_line);
    parser.feed("1 1:1 2:2\n2 3:3\n");
    const SvmlightRows before = parser.take(1);
    parser.feed("3 2147483647:1\n");
    CHECK(before.pattern.index() == 0);
    parser.feed("4 2147483648:1\n5 9223372036854775807:1 1:1\n");
    const SvmlightRows after = parser.take(9);
    CHECK(after.pattern.index() == 1);
    CHECK(show(before) == parse("1 1:1 2:2\n"));
    CHECK(show(after) ==
          "2.000000 2:3.000000\n3.000000 2147483646:1.000000\n4.000000 2147483647:1.000000\n"
          "5.000000 9223372036854775806:1.000000 0:1.000000\n");
    parser.feed("6 9223372036854775808:1\n");
    CHECK(show(parser.take(9)) ==
          "line 6: The index must fit 64 bits, got '9223372036854775808:1'.\n");
}

TEST_CASE("a bad row is counted in its place and affects no other row") {
    SvmlightParser parser(false, max_line);
    parser.feed("1 1:1\n2 5:5 x\n# comment\n3 1:1\n4,5\n6 7:8\n");
    CHECK(parser.rows() == 5);
    const SvmlightRows first = parser.take(2), second = parser.take(1), third = parser.take(2);
    CHECK(show(first) == parse("1 1:1\n") + "line 2: A pair must be index:value, got 'x'.\n");
    CHECK(show(second) == parse("3 1:1\n"));
    CHECK(second.lines[0] == 4);
    CHECK(third.bad.at(0).first == 0);
    CHECK(show(third) == parse("6 7:8\n") + "line 5: The label must be one class, got '4,5'.\n");
}

TEST_CASE("no text is accepted after the end") {
    SvmlightParser parser(false, max_line);
    parser.feed("1 1:1");
    parser.finish();
    parser.finish();
    CHECK(parser.rows() == 1);
    CHECK_THROWS_WITH_AS(parser.feed("1\n"), "The text is finished. Use a new parser.",
                         std::invalid_argument);
}

TEST_CASE("random bytes, cut anywhere, give the same rows and faults, in bounds") {
    std::mt19937_64 random(3);
    const std::string alphabet = "0123456789 \t\r\n\n#:::,+-.e1111    qid:nainf\xff";
    for (int round = 0; round < 3000; ++round) {
        std::string text(random() % 400, ' ');
        for (char& c : text) c = alphabet[random() % alphabet.size()];
        const std::size_t limit = 1 + random() % 200;
        SvmlightParser whole(false, limit), parts(false, limit);
        whole.feed(text);
        whole.finish();
        for (std::size_t i = 0; i < text.size();) {
            const std::string piece = text.substr(i, 1 + random() % 40);  // exactly sized
            parts.feed(piece);
            i += piece.size();
        }
        parts.finish();
        CHECK(show(whole.take(1000)) == show(parts.take(1000)));
    }
}
