// The five hot loops on fixed data, one a run: callgrind counts the instructions of the function
// named hot_*, so what is counted does not depend on what the machine is doing. Data are made
// without the standard distributions and libm, which differ from one library to the next.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/svmlight.hpp"

namespace {

using namespace driftsieve;

constexpr std::size_t kRows = 16384;  // two blocks at this epsilon
constexpr std::size_t kColumns = 16;
constexpr double kEpsilon = 0.001;

std::mt19937_64 random_bits(1);

double uniform() {
    return static_cast<double>(random_bits() >> 11) * 0x1p-53;
}

// The sum of twelve uniforms: near enough to a bell.
double bell() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
}

struct Rows {
    std::vector<std::uint32_t> classes = std::vector<std::uint32_t>(kRows);
    std::vector<double> values = std::vector<double>(kRows * kColumns);

    Rows() {
        for (std::uint32_t& cls : classes) cls = random_bits() & 1;
        for (double& value : values) value = bell();
    }
    MatrixView<double> matrix() const { return {values.data(), kColumns, 1, kRows, kColumns}; }
};

struct SparseRows {
    static constexpr std::size_t kWidth = 5000;
    static constexpr std::size_t kNonZeros = 50;
    static constexpr std::size_t kStretch = kWidth / kNonZeros;

    std::vector<std::uint32_t> classes;
    std::vector<double> data;
    std::vector<std::int32_t> indices;
    std::vector<std::int32_t> indptr{0};

    SparseRows() {
        for (std::size_t i = 0; i < kRows; ++i) {
            classes.push_back(random_bits() & 1);
            for (std::size_t k = 0; k < kNonZeros; ++k) {
                const std::size_t column = k * kStretch + random_bits() % kStretch;
                indices.push_back(static_cast<std::int32_t>(column));
                data.push_back(column % 10 == 0 ? uniform() : 1.0);  // nine of ten are flags
            }
            indptr.push_back(static_cast<std::int32_t>(indices.size()));
        }
    }
    CsrView<double, std::int32_t> matrix() const {
        return {data.data(), indices.data(), indptr.data(), kRows, kWidth};
    }
};

std::string svmlight_text() {
    std::string text;
    for (std::size_t i = 0; i < 2000; ++i) {
        text += random_bits() & 1 ? "+1" : "-1";
        for (std::size_t k = 0; k < 100; ++k) {
            text += ' ' + std::to_string(1 + 32000 * k + random_bits() % 32000) + ':';
            text += k % 10 == 0 ? std::to_string(uniform()) : "1";
        }
        text += '\n';
    }
    return text;
}

}  // namespace

// What callgrind is told to count. Each returns something, so that nothing is left out.
#define HOT extern "C" [[gnu::noinline]]

// Counting into cells, merging and pruning; gathering columns is a small part of it.
HOT std::size_t hot_summaries(const Rows& rows) {
    Bank bank(Config{kEpsilon, false, true, false}, Clock::sample,
              std::numeric_limits<double>::infinity());
    bank.update(rows.matrix(), RowInfo{rows.classes, {}, {}}, 2, 1);
    return bank.nbytes();
}

HOT std::size_t hot_moments(const Rows& rows) {
    Bank bank(Config{kEpsilon, true, false, false}, Clock::sample,
              std::numeric_limits<double>::infinity());
    bank.update(rows.matrix(), RowInfo{rows.classes, {}, {}}, 2, 1);
    return bank.nbytes();
}

HOT double hot_gather(const Rows& rows, const std::vector<std::uint32_t>& order,
                      std::vector<double>& strip) {
    for (std::size_t j = 0; j < kColumns; j += 8)
        kernels().gather_strip(rows.values.data() + j, kColumns, order.data(), order.size(),
                               strip.data());
    return strip.back();
}

HOT std::size_t hot_sparse(const SparseRows& rows) {
    Bank bank(Config{kEpsilon, true, true, false}, Clock::sample,
              std::numeric_limits<double>::infinity());
    bank.update(rows.matrix(), RowInfo{rows.classes, {}, {}}, 2, 1);
    return bank.nbytes();
}

HOT std::size_t hot_svmlight(const std::string& text) {
    SvmlightParser parser(false, std::size_t{1} << 26);
    parser.feed(text);
    parser.finish();
    return parser.take(parser.rows()).n_pairs;
}

int main(int argc, char** argv) {
    const std::string which = argc == 2 ? argv[1] : "";
    double result = 0.0;
    if (which == "compiler") {
        std::printf("%s %s\n",
#ifdef __clang__
                    "clang",
#else
                    "gcc",
#endif
                    __VERSION__);
        return 0;
    } else if (which == "summaries") {
        result = static_cast<double>(hot_summaries(Rows()));
    } else if (which == "moments") {
        result = static_cast<double>(hot_moments(Rows()));
    } else if (which == "gather") {
        const Rows rows;
        std::vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i < kRows; ++i)
            if (rows.classes[i] == 0) order.push_back(i);
        std::vector<double> strip(8 * order.size());
        result = hot_gather(rows, order, strip);
    } else if (which == "sparse") {
        result = static_cast<double>(hot_sparse(SparseRows()));
    } else if (which == "svmlight") {
        result = static_cast<double>(hot_svmlight(svmlight_text()));
    } else {
        std::fprintf(stderr, "usage: %s summaries|moments|gather|sparse|svmlight|compiler\n",
                     argv[0]);
        return 2;
    }
    std::printf("%s %s %g\n", kernels().name, which.c_str(), result);
    return 0;
}
