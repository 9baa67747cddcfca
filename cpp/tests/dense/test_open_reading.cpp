#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/base/archive.hpp"
#include "paths.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Kind;
using tests::same;
using tests::Source;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct Read {
    std::vector<double> weight, squared, mean, centred, variance, bins, edges, error;

    Read(const Bank& bank, std::size_t begin, std::size_t count, std::size_t n_bins) {
        const std::size_t n_classes = bank.n_classes();
        std::vector<std::uint32_t> place(n_classes);
        for (std::size_t c = 0; c < n_classes; ++c) place[c] = static_cast<std::uint32_t>(c);
        for (std::vector<double>* part : {&weight, &squared, &mean, &centred, &variance})
            part->resize(n_classes * count);
        bins.resize(count * n_bins * n_classes);
        edges.resize(count * (n_bins - 1));
        error.resize(count);
        SnapshotArrays out;
        out.class_place = place;
        out.n_bins = n_bins;
        out.n_features = count;
        out.weight = weight.data();
        out.weight_squared = squared.data();
        if (bank.config().moments) {
            out.mean = mean.data();
            out.centred_mean = centred.data();
            out.variance = variance.data();
        }
        out.bins = bins.data();
        out.edges = edges.data();
        out.rank_error = error.data();
        bank.take_snapshot(begin, out, 1);
    }
    bool operator==(const Read& other) const {
        return same(weight, other.weight) && same(squared, other.squared) &&
               same(mean, other.mean) && same(centred, other.centred) &&
               same(variance, other.variance) && same(bins, other.bins) &&
               same(edges, other.edges) && same(error, other.error);
    }
};

std::vector<std::byte> encode(Bank& bank) {
    Writer writer;
    bank.archive(writer);
    return writer.bytes;
}

struct Stream {
    std::size_t n, width;
    std::vector<double> values, weights;
    std::vector<std::uint32_t> classes;

    Stream(std::uint64_t seed, std::size_t rows, std::size_t n_classes, bool missing, bool weighted)
        : n(rows), width(tests::all_kinds().size()) {
        Source source(seed);
        for (std::size_t i = 0; i < n; ++i) {
            for (const Kind kind : tests::all_kinds())
                values.push_back(missing && source.below(5) == 0
                                     ? std::numeric_limits<double>::quiet_NaN()
                                     : source.value(kind, i / 100));
            // classes that come late
            classes.push_back(static_cast<std::uint32_t>(source.below(1 + n_classes * i / n)));
            if (weighted) weights.push_back(source.below(9) == 0 ? 0.0 : source.uniform());
        }
    }
    void give(Bank& bank, std::size_t begin, std::size_t count) const {
        const RowInfo all{classes, weights, {}};
        const auto stride = static_cast<std::ptrdiff_t>(width);
        bank.update(MatrixView<double>{values.data() + begin * width, stride, 1, count, width},
                    all.part(begin, count), *std::max_element(classes.begin(), classes.end()) + 1,
                    1);
    }
};

// A bank that is read after every batch, and now and then in parts, is the same as one that is read
// for the first time.
void check_reads(const Config& config, double half_life, const Stream& stream, std::size_t most) {
    Bank bank(config, Clock::row, half_life);
    Bank unread(config, Clock::row, half_life);
    Source source(most);
    for (std::size_t i = 0, count; i < stream.n; i += count) {
        count = std::min(1 + source.below(most), stream.n - i);
        stream.give(bank, i, count);
        stream.give(unread, i, count);
        const std::size_t n_bins = 2 + source.below(8);
        const Bank fresh = unread;
        const Read expected(fresh, 0, stream.width, n_bins);
        if (source.below(4) == 0) Read(bank, 3, 5, n_bins);
        CHECK(Read(bank, 0, stream.width, n_bins) == expected);
        CHECK(Read(bank, 0, stream.width, n_bins) == expected);
    }
    CHECK(encode(bank) == encode(unread));
}

// The quantile edges of the rows by brute force.
std::vector<double> edges_of(std::vector<Weighed> rows, std::size_t n_bins) {
    sort_by_value(rows);
    double total = 0.0;
    for (const Weighed& row : rows) total += row.weight;
    std::vector<double> edges;
    double reached = 0.0;
    for (std::size_t i = 0; i < rows.size() && edges.size() + 1 < n_bins; ++i) {
        reached += rows[i].weight;
        if (i + 1 < rows.size() && rows[i + 1].value == rows[i].value) continue;
        while (edges.size() + 1 < n_bins && reached >= edge_goal(edges.size(), total, n_bins))
            edges.push_back(rows[i].value + 0.0);
    }
    return edges;
}

}  // namespace

TEST_CASE("reading often gives the same bits as reading once, and leaves the same bytes") {
    const Stream plain(1, 4500, 3, false, false);
    const Stream weighted(2, 4500, 40, true, true);
    const Stream missing(3, 2500, 2, true, false);
    for (const std::size_t most : {1300, 150}) {
        check_reads(Config{0.01, true, true, false}, kForever, plain, most);
        check_reads(Config{0.01, true, true, false}, 300.0, plain, most);
        check_reads(Config{0.01, false, true, false}, 1.5, plain, most);
        check_reads(Config{0.01, false, true, true}, kForever, weighted, most);
        check_reads(Config{0.01, true, true, true}, 1e5, weighted, most);
        check_reads(Config{0.01, true, true, true}, kForever, missing, most);
        check_reads(Config{0.3, true, true, true}, 900.0, missing, most);
    }
}

TEST_CASE("the edges of open rows are exact, read often or once") {
    const Stream stream(4, 1500, 3, false, true);
    Bank bank(Config{0.01}, Clock::row, kForever);
    for (std::size_t i = 0; i < stream.n; i += 50) {
        stream.give(bank, i, 50);
        const Read read(bank, 0, stream.width, 7);
        for (std::size_t j = 0; j < stream.width; ++j) {
            std::vector<Weighed> rows;
            for (std::size_t k = 0; k < i + 50; ++k)
                rows.push_back({stream.values[k * stream.width + j], stream.weights[k], 0});
            const std::vector<double> edges(
                read.edges.begin() + static_cast<std::ptrdiff_t>(j * 6),
                read.edges.begin() + static_cast<std::ptrdiff_t>(j * 6 + 6));
            CHECK(edges == edges_of(rows, 7));
        }
    }
}

TEST_CASE("find_buckets and find_key find what a search value by value finds") {
    tests::on_every_path([](const Kernels& path) {
        Source source(5);
        for (const std::size_t n_ends : {0, 1, 7, 8, 9, 63, 64, 127, 128, 200, 253})
            for (const std::size_t n : tests::lengths()) {
                std::vector<double> ends(n_ends);
                for (double& end : ends) end = source.bell();
                std::sort(ends.begin(), ends.end());
                tests::Unaligned<double> values(n % 3, n);
                for (std::size_t i = 0; i < n; ++i)
                    values[i] =
                        n_ends > 0 && i % 2 == 0 ? ends[source.below(n_ends)] : 2.0 * source.bell();
                tests::Unaligned<std::uint8_t> found(n % 5, n);
                path.find_buckets(values.data(), n, ends.data(), n_ends, found.data());
                std::vector<std::uint8_t> expected;
                for (std::size_t i = 0; i < n; ++i)
                    expected.push_back(static_cast<std::uint8_t>(
                        std::lower_bound(ends.begin(), ends.end(), values[i]) - ends.begin()));
                CHECK(found.copy() == expected);
                const auto wanted = static_cast<std::uint8_t>(n_ends / 2);
                std::vector<std::uint32_t> places(n), rows;
                places.resize(path.find_key(found.data(), n, wanted, places.data()));
                for (std::size_t i = 0; i < n; ++i)
                    if (expected[i] == wanted) rows.push_back(static_cast<std::uint32_t>(i));
                CHECK(places == rows);
            }
    });
}
