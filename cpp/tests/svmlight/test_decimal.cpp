#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "driftsieve/svmlight/decimal.hpp"

namespace {

// The number at the start of a text and the characters it took, 0 if there is none.
struct Read {
    double value = 0;
    std::size_t length = 0;
};

Read read(const std::string& text) {
    const std::string line = text + '\n' + std::string(driftsieve::text_padding, '7');
    Read result;
    const char* const last = driftsieve::read_decimal(line.data(), result.value);
    if (last != nullptr) result.length = static_cast<std::size_t>(last - line.data());
    return result;
}

void check_same_as_strtod(const std::string& text) {
    CAPTURE(text);
    const Read result = read(text);
    const double expected = std::strtod(text.c_str(), nullptr);
    CHECK(result.length == text.size());
    CHECK(std::bit_cast<std::uint64_t>(result.value) == std::bit_cast<std::uint64_t>(expected));
}

}  // namespace

TEST_CASE("decimals are exact to the last bit") {
    for (const char* text : {"0",
                             "-0",
                             "+1",
                             "-1.0",
                             "1.",
                             ".5",
                             "0.1",
                             "123456789",
                             "1e5",
                             "1E+5",
                             "1e-5",
                             "1e22",
                             "1e23",
                             "9007199254740993",
                             "9007199254740993.0",
                             "0.30000000000000004",
                             "179769313486231570814527423731704356798070e267",
                             "1.7976931348623157e308",
                             "1.7976931348623159e308",
                             "1e400",
                             "-1e400",
                             "1e-400",
                             "-1e-400",
                             "4.9e-324",
                             "2e-324",
                             "2.2250738585072011e-308",
                             "1e99999999999999999999",
                             "1e-99999999999999999999",
                             "0e99999999999999999999",
                             "0.0000000000000000",
                             "00000000000000000000001",
                             "18446744073709551615",
                             "18446744073709551616",
                             "9999999999999999999e-19",
                             "1.00000000000000011102230246251565404",
                             "1e18446744073709551617"}) {
        check_same_as_strtod(text);
    }
    check_same_as_strtod("0." + std::string(400, '0') + "1e400");
    check_same_as_strtod("0." + std::string(400, '0') + "1");
    check_same_as_strtod(std::string(400, '1') + "e-400");
    check_same_as_strtod(std::string(400, '1'));
}

TEST_CASE("random decimals of every length and exponent are exact") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 30'000; ++i) {
        const std::size_t n_digits = 1 + random() % 22;
        const std::size_t point = random() % (n_digits + 1);
        std::string text;
        if (random() % 2) text += '-';
        for (std::size_t j = 0; j < n_digits; ++j) {
            if (j == point) text += '.';
            text += static_cast<char>('0' + random() % 10);
        }
        if (random() % 2) {
            text += 'e';
            text += std::to_string(static_cast<int>(random() % 660) - 330);
        }
        check_same_as_strtod(text);
    }
}

TEST_CASE("halves between two doubles go to the even one") {
    std::mt19937_64 random(2);
    for (int i = 0; i < 10'000; ++i) {
        // k + 1/2, 1/4 or 1/8 with k just large enough that this is the middle of two doubles.
        const int down = 1 + static_cast<int>(random() % 3);
        const std::uint64_t k = (std::uint64_t{1} << (53 - down)) + (random() >> (11 + down));
        const char* const fraction[] = {".5", ".25", ".125"};
        check_same_as_strtod(std::to_string(k) + fraction[down - 1]);
    }
}

TEST_CASE("text that is not a decimal is refused, and reading stops after a decimal") {
    for (const char* text : {"", "-", "+", ".", "e5", "-.e1", "1e", "1e+", "x1", "--1", "nan"}) {
        CAPTURE(text);
        CHECK(read(text).length == 0);
    }
    CHECK(read("12:3").length == 2);
    CHECK(read("1.5.5").length == 3);
    CHECK(read("1,2").length == 1);
    CHECK(read("0x10").length == 1);
}
