#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "driftsieve/svmlight.hpp"

using driftsieve::CsrRows;
using driftsieve::SvmlightParser;

namespace {

constexpr SvmlightParser::Options plain = {{false, false}, false, 1 << 20};
constexpr SvmlightParser::Options skipping = {{false, false}, true, 200};

// Rows as text again, so that they can be compared: "label column:value ...".
std::string show(const CsrRows& rows) {
    std::string text;
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        text += std::to_string(rows.labels[i]);
        for (std::int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
            const auto column = [j](const auto& indices) { return std::to_string(indices[j]); };
            text += ' ' + std::visit(column, rows.indices) + ':' + std::to_string(rows.values[j]);
        }
        text += '\n';
    }
    return text;
}

std::string parse(const std::string& text, SvmlightParser::Options options = plain) {
    SvmlightParser parser(options);
    parser.feed(text);
    parser.finish();
    return show(parser.take(parser.rows()));
}

}  // namespace

TEST_CASE("a queue hands out its front for good while it grows") {
    driftsieve::Queue<int> queue;
    std::vector<std::shared_ptr<int[]>> taken;
    for (int i = 0; i < 1000; ++i) {
        for (int j = 0; j < 3; ++j) queue.push_back(3 * i + j);
        taken.push_back(queue.take(2));
    }
    CHECK(queue.size() == 1000);
    for (int i = 0; i < 2000; ++i) CHECK(taken[i / 2][i % 2] == i);
    for (int i = 0; i < 1000; ++i) CHECK(queue.begin()[i] == 2000 + i);
}

TEST_CASE("a queue that is emptied at a steady pace needs one array each time") {
    driftsieve::Queue<int> queue;
    for (int round = 0; round < 3; ++round) {
        const int* const first = queue.reserve(1);
        for (int i = 0; i < 1000; ++i) queue.push_back(i);
        CHECK((queue.begin() == first) == (round > 0));
        queue.take(1000);
        CHECK(queue.size() == 0);
    }
}

TEST_CASE("rows can be taken in parts while text goes on") {
    SvmlightParser parser(plain);
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
    SvmlightParser parser(plain);
    parser.feed("1 1:1 2:2\n2 3:3\n");
    const CsrRows before = parser.take(1);
    parser.feed("3 2147483647:1\n");
    CHECK(before.indices.index() == 0);
    parser.feed("4 2147483648:1\n5 9223372036854775807:1 1:1\n");
    const CsrRows after = parser.take(9);
    CHECK(after.indices.index() == 1);
    CHECK(show(before) == parse("1 1:1 2:2\n"));
    CHECK(show(after) ==
          "2.000000 2:3.000000\n3.000000 2147483646:1.000000\n4.000000 2147483647:1.000000\n"
          "5.000000 9223372036854775806:1.000000 0:1.000000\n");
    CHECK(parser.n_columns() == std::numeric_limits<std::int64_t>::max());
    CHECK_THROWS_AS(parser.feed("1 9223372036854775808:1\n"), std::invalid_argument);
}

TEST_CASE("a fault keeps the rows before it and refuses what follows") {
    SvmlightParser parser(plain);
    CHECK_THROWS_WITH(parser.feed("1 1:1\n2 x\n3 1:1\n"), "line 2: 'x' is not index:value");
    CHECK_THROWS_WITH(parser.feed("1 1:1\n"), "line 2: 'x' is not index:value");
    CHECK_THROWS_WITH(parser.finish(), "line 2: 'x' is not index:value");
    CHECK(show(parser.take(9)) == parse("1 1:1\n"));
}

TEST_CASE("random bytes, cut anywhere, give the same rows, skips and faults, in bounds") {
    std::mt19937_64 random(3);
    const std::string alphabet = "0123456789 \t\r\n\n#:::,+-.e1111    qid:nainf\xff";
    for (int round = 0; round < 3000; ++round) {
        std::string text(random() % 400, ' ');
        for (char& c : text) c = alphabet[random() % alphabet.size()];
        SvmlightParser::Options options = skipping;
        options.max_line = 1 + random() % 200;
        SvmlightParser whole(options), parts(options);
        whole.feed(text);
        whole.finish();
        for (std::size_t i = 0; i < text.size();) {
            const std::string piece = text.substr(i, 1 + random() % 40);  // exactly sized
            parts.feed(piece);
            i += piece.size();
        }
        parts.finish();
        CHECK(show(whole.take(1000)) == show(parts.take(1000)));
        CHECK(whole.lines() == parts.lines());
        CHECK(whole.lines_skipped() == parts.lines_skipped());
        CHECK(whole.faults() == parts.faults());
    }
}
