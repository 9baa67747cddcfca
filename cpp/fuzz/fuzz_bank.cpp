// Arbitrary bytes as a bank. Bytes that are not rejected must be a bank that works: it is read,
// updated, cut, merged and encoded, which shows what check() accepts by mistake.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/base/archive.hpp"
#include "memory.hpp"

using namespace driftsieve;

namespace {

// Decoding holds at most this many bytes for each byte of input (docs/reliability.md).
constexpr std::size_t kMultiple = 16;
constexpr std::size_t kMostCells = std::size_t{1} << 14;  // classes x features that are tried

std::optional<Bank> decode(std::span<const std::byte> bytes) {
    const fuzz::Memory memory;
    std::optional<Bank> bank;
    try {
        bank.emplace();
        Reader reader(bytes);
        bank->archive(reader);
        reader.expect_end();
        bank->check();
    } catch (const std::invalid_argument&) {
        bank.reset();
    }
    memory.expect_at_most(kMultiple * bytes.size() + 4096);
    return bank;
}

std::vector<std::byte> encode(Bank& bank) {
    Writer writer;
    bank.archive(writer);
    return writer.bytes;
}

template <class T>
std::vector<T> count_up(std::size_t n) {
    std::vector<T> numbers(n);
    std::iota(numbers.begin(), numbers.end(), T{0});
    return numbers;
}

// Even features have few values, so that they stay exact; odd ones many, so that they are counted.
double value_of(std::span<const std::byte> bytes, std::size_t i) {
    const int byte = std::to_integer<int>(bytes[(i * 7) % bytes.size()]);
    return i % 2 == 0 ? byte % 16 : (byte - 100) * 256.0 + static_cast<double>(i * 89 % 256);
}

void take_snapshot(const Bank& bank) {
    constexpr std::size_t n_bins = 4;
    const std::size_t p = bank.n_features();
    const std::size_t n_classes = bank.n_classes();
    const auto place = count_up<std::uint32_t>(n_classes);
    std::vector<double> weight(n_classes * p), mean(n_classes * p), variance(n_classes * p);
    std::vector<double> weight_squared(n_classes * p), design_effect(p);
    std::vector<double> centred_mean(n_classes * p);
    std::vector<double> bins(p * n_bins * n_classes), edges(p * (n_bins - 1)), rank_error(p);
    SnapshotArrays out{place, n_bins, p, weight.data(), weight_squared.data()};
    if (bank.has_design_effects()) out.design_effect = design_effect.data();
    if (bank.config().moments) {
        out.mean = mean.data();
        out.centred_mean = centred_mean.data();
        out.variance = variance.data();
    }
    if (bank.config().quantiles) {
        out.bins = bins.data();
        out.edges = edges.data();
        out.rank_error = rank_error.data();
    }
    bank.totals();
    bank.take_snapshot(0, out, 1);
}

// Enough rows to close a block where there are few features; the values come from the input.
void update(Bank& bank, std::span<const std::byte> bytes, bool as_dense) {
    const std::size_t p = bank.n_features();
    const std::size_t n = bank.config().epsilon > 0.005 && p <= 4 ? 1700 : 40;
    const std::size_t n_classes = bank.n_classes() + 1;
    std::vector<double> values(n * p);
    std::vector<std::uint32_t> classes(n);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(bytes, i);
    for (std::size_t i = 0; i < n; ++i) classes[i] = static_cast<std::uint32_t>(i % n_classes);
    std::vector<double> times(bank.clock() == Clock::time ? n : 0, bank.now() + 1.0);
    if (bank.n_features() == 0 || !std::isfinite(bank.now())) times.assign(times.size(), 0.0);
    const RowInfo info{classes, {}, times};
    try {
        if (as_dense) {
            const auto stride = static_cast<std::ptrdiff_t>(p);
            bank.update(MatrixView<double>{values.data(), stride, 1, n, p}, info, n_classes, 1);
            return;
        }
        std::vector<std::int32_t> indices(n * p);
        std::vector<std::int32_t> indptr(n + 1);
        for (std::size_t k = 0; k < n * p; ++k) indices[k] = static_cast<std::int32_t>(k % p);
        for (std::size_t i = 0; i <= n; ++i) indptr[i] = static_cast<std::int32_t>(i * p);
        bank.update(
            CsrView<double, std::int32_t>{values.data(), indices.data(), indptr.data(), n, p}, info,
            n_classes, 1);
    } catch (const std::invalid_argument&) {
        // a clock at its end is rejected with an error
    }
}

void merge(Bank& bank, const Bank& other) {
    const std::size_t p = other.n_features();
    const auto class_map = count_up<std::uint32_t>(other.n_classes());
    const auto target = count_up<std::size_t>(p);
    const double start = bank.clock() == Clock::time ? 0.0 : 1000.0;
    try {
        bank.merge(other, class_map, target, std::max(bank.n_classes(), other.n_classes()),
                   std::max(bank.n_features(), p), start, 1);
    } catch (const std::invalid_argument&) {
    }
}

// One operation that a caller might do next; the input decides which.
void use(Bank& bank, const Bank& again, std::span<const std::byte> bytes) {
    int sum = 0;
    for (const std::byte byte : bytes) sum += std::to_integer<int>(byte);
    switch (sum % 4) {
        case 0:
            merge(bank, again);
            break;
        case 1:
            bank = bank.cut(0, bank.n_features() / 2);
            break;
        case 2:
            update(bank, bytes, true);
            break;
        case 3:
            update(bank, bytes, false);
            break;
    }
    take_snapshot(bank);
    decode(encode(bank));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    std::optional<Bank> bank = decode(bytes);
    if (!bank) return 0;
    // a stored bank has as many labels in its header as classes, so not more
    if (bank->n_classes() > size) return 0;
    if ((bank->n_classes() + 1) * bank->n_features() > kMostCells) return 0;
    const std::vector<std::byte> encoded = encode(*bank);
    const std::optional<Bank> again = decode(encoded);
    if (!again) __builtin_trap();  // an encoded bank must be accepted again
    take_snapshot(*bank);
    use(*bank, *again, bytes);
    return 0;
}
