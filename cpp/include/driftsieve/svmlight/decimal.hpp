// Decimal text to numbers, eight digits at a time, exact to the last bit.
//
// Every function here reads from a text that (a) ends in a character no number holds, such as the
// newline of its line, and (b) has `text_padding` readable bytes after that character. So no loop
// needs a bounds check, and none reads past the padding.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace driftsieve {

inline constexpr std::size_t text_padding = 8;

namespace decimal {

inline std::uint64_t load_eight(const char* p) noexcept {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

// The number written by eight digits, given as bytes 0-9 with the first digit lowest: neighbours
// are joined into pairs, pairs into fours, fours into eight, by three multiplications.
inline std::uint64_t join_eight(std::uint64_t digits) noexcept {
    constexpr std::uint64_t pairs = 0x000000FF000000FF;
    digits = digits * 10 + (digits >> 8);
    return ((digits & pairs) * 0x000F424000000064 +
            ((digits >> 16) & pairs) * 0x0000271000000001) >>
           32;
}

// Powers of ten that 64 bits hold.
inline constexpr auto integer_powers = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
    return powers;
}();

// Powers of ten that a double holds exactly.
inline constexpr std::array<double, 23> exact_powers = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Digits that always fit in 64 bits.
inline constexpr std::ptrdiff_t safe_digits = 19;

// Digits that a double always holds exactly.
inline constexpr std::ptrdiff_t exact_digits = 15;

// Appends the digits at p to `value` (modulo 2^64) and returns the first character after them.
inline const char* read_digits(const char* p, std::uint64_t& value) noexcept {
    for (;;) {
        // A byte that is no digit gets its top bit set. A carry can only spoil the bytes after the
        // first such byte, and only the first one matters.
        const std::uint64_t digits = load_eight(p) ^ 0x3030303030303030;
        const std::uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
        if (others != 0) {
            const int n = std::countr_zero(others) / 8;
            // Two shifts, because n = 0 would shift by 64.
            value = value * integer_powers[n] + join_eight(digits << 8 << (56 - 8 * n));
            return p + n;
        }
        value = value * 100'000'000 + join_eight(digits);
        p += 8;
    }
}

// The double nearest to mantissa / 10^power, for power <= 19 and mantissa > 0. The quotient has 63
// or 64 bits; its last bit also stands for the remainder, so that the one rounding, to 53 bits, is
// the right one.
inline double divide(std::uint64_t mantissa, std::int64_t power) noexcept {
    const std::uint64_t divisor = integer_powers[power];
    const int up = std::countl_zero(mantissa);
    const int divisor_up = std::countl_zero(divisor);
    const auto dividend = static_cast<unsigned __int128>(mantissa << up) << 63;
    const std::uint64_t scaled = divisor << divisor_up;
    const auto quotient = static_cast<std::uint64_t>(dividend / scaled);
    const bool rest = dividend != static_cast<unsigned __int128>(quotient) * scaled;
    // Times 2^(divisor_up - up - 63), made from its bits: ldexp is a slow call.
    const auto exponent = static_cast<std::uint64_t>(1023 - 63 + divisor_up - up);
    return static_cast<double>(quotient | rest) * std::bit_cast<double>(exponent << 52);
}

// from_chars with separate range errors: too small gives 0 and too large +inf, as strtod and
// Python's float do. `exponent` is the one written in the text (possibly cut to a huge value).
inline double read_slowly(const char* first, const char* last, std::int64_t exponent) noexcept {
    double value = 0;
    if (std::from_chars(first, last, value).ec != std::errc::result_out_of_range) return value;
    // Far out of range either way, so the place of the leading digit decides.
    std::int64_t place = exponent;
    const char* p = first;
    while (*p == '0') ++p;
    if (*p == '.') {
        while (*++p == '0') --place;
    } else {
        while (*p >= '0' && *p <= '9') ++p, ++place;
    }
    return place > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace decimal

// Reads [+-] digits [. digits] [e [+-] digits] into the nearest double and returns the first
// character after it, or nullptr when there is no such number at p. Too large becomes infinite.
inline const char* read_decimal(const char* p, double& value) noexcept {
    using namespace decimal;
    const bool negative = *p == '-';
    p += negative || *p == '+';
    const char* const first = p;
    std::uint64_t mantissa = 0;
    p = read_digits(p, mantissa);
    std::ptrdiff_t n_digits = p - first;
    std::int64_t exponent = 0;
    if (*p == '.') {
        const char* const fraction = ++p;
        p = read_digits(p, mantissa);
        n_digits += p - fraction;
        exponent = fraction - p;
    }
    if (n_digits == 0) return nullptr;
    std::int64_t written = 0;
    if (*p == 'e' || *p == 'E') {
        const bool down = *++p == '-';
        p += down || *p == '+';
        const char* const start = p;
        std::uint64_t digits = 0;
        p = read_digits(p, digits);
        if (p == start) return nullptr;
        // Beyond any number of digits a text can have, so that the cut never changes the result.
        constexpr std::uint64_t huge = std::uint64_t{1} << 60;
        if (p - start > safe_digits || digits > huge) digits = huge;
        written = down ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
        exponent += written;
    }
    // Clinger's fast path: both operands are exact, so the one rounding is the right one.
    if (n_digits <= exact_digits && exponent >= -22 && exponent <= 22) {
        value = static_cast<double>(mantissa);
        if (exponent < 0) {
            value /= exact_powers[-exponent];
        } else {
            value *= exact_powers[exponent];
        }
    } else if (n_digits <= safe_digits && exponent >= -19 && exponent < 0 && mantissa > 0) {
        value = divide(mantissa, -exponent);
    } else {
        value = read_slowly(first, p, written);
    }
    if (negative) value = -value;
    return p;
}

}  // namespace driftsieve
