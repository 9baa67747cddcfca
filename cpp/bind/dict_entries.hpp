#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

// The entries of a dictionary, in order. There is one public way to them, PyDict_Next, and it costs
// more for each of them than all else that is done with a row. So they are read as CPython stores
// them where that layout is known, 3.11 to 3.13 with the GIL, and a probe of it at import reads
// what was written; everywhere else by PyDict_Next.
namespace driftsieve::bind {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && \
    !defined(PYPY_VERSION)
#define DRIFTSIEVE_DICT_LAYOUT 1
#endif

// A walk through a dictionary: visit(key, value) for each entry until that returns false; whether
// it never did. Should a visit change the dictionary, the walk ends as if it had returned false.
template <class Walker>
bool walk_by_next(PyObject* dict, Walker& walker) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    const Py_ssize_t size = PyDict_Size(dict);
    while (PyDict_Next(dict, &position, &key, &value))
        if (!walker.visit(key, value) || PyDict_Size(dict) != size) return false;
    return true;
}

#ifdef DRIFTSIEVE_DICT_LAYOUT

struct StoredKeys {  // the index follows, then the entries
    Py_ssize_t references;
    std::uint8_t log2_size;
    std::uint8_t log2_index_bytes;
    std::uint8_t kind;
    std::uint32_t version;
    Py_ssize_t usable;
    Py_ssize_t n_entries;
};
constexpr std::uint8_t kAnyKeys = 0;     // entries: hash, key, value
constexpr std::uint8_t kStringKeys = 1;  // entries: key, value

// N entries as they lie in memory, to be run through in a tight loop.
template <std::size_t Words>
struct EntrySpan {
    PyObject* const* first;
    std::size_t size;

    PyObject* key(std::size_t i) const { return first[i * Words + Words - 2]; }
    PyObject* value(std::size_t i) const { return first[i * Words + Words - 1]; }  // null: deleted
    EntrySpan from(std::size_t i) const { return {first + i * Words, size - i}; }
    template <std::size_t N>
    void prefetch() const {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < N; ++i) __builtin_prefetch(value(i));
    }
};

// The same as walk_by_next, for a dictionary that keeps its own values in entries of that many
// words. walker.run(entries) deals with as many of them as it can, at once and without running any
// code of the objects, and returns how many.
template <std::size_t Words, class Walker>
bool walk_stored(PyObject* dict, Walker& walker) {
    const auto* object = reinterpret_cast<const PyDictObject*>(dict);
    const auto* keys = reinterpret_cast<const StoredKeys*>(object->ma_keys);
    const auto* first = reinterpret_cast<PyObject* const*>(
        reinterpret_cast<const char*>(keys + 1) + (std::size_t{1} << keys->log2_index_bytes));
    EntrySpan<Words> rest{first, static_cast<std::size_t>(keys->n_entries)};
    while (rest.size > 0) {
        rest = rest.from(walker.run(rest));
        if (rest.size == 0) break;
        if (rest.value(0) != nullptr && !walker.visit(rest.key(0), rest.value(0))) return false;
        if (reinterpret_cast<const StoredKeys*>(object->ma_keys) != keys) return false;
        rest = rest.from(1);
    }
    return true;
}

#endif

enum class Layout : std::uint8_t { unknown, any_keys, string_keys };

inline Layout layout_of([[maybe_unused]] PyObject* dict) {
#ifdef DRIFTSIEVE_DICT_LAYOUT
    const auto* object = reinterpret_cast<const PyDictObject*>(dict);
    if (object->ma_values != nullptr) return Layout::unknown;  // shared with other objects
    const auto kind = reinterpret_cast<const StoredKeys*>(object->ma_keys)->kind;
    if (kind == kAnyKeys) return Layout::any_keys;
    if (kind == kStringKeys) return Layout::string_keys;
#endif
    return Layout::unknown;
}

inline bool layout_is_known = false;  // set at import

template <class Walker>
bool walk(PyObject* dict, Walker& walker) {
    switch (layout_is_known ? layout_of(dict) : Layout::unknown) {
#ifdef DRIFTSIEVE_DICT_LAYOUT
        case Layout::any_keys:
            return walk_stored<3>(dict, walker);
        case Layout::string_keys:
            return walk_stored<2>(dict, walker);
#endif
        default:
            return walk_by_next(dict, walker);
    }
}

struct Comparison {  // of what is visited with what PyDict_Next finds
    PyObject* dict;
    Py_ssize_t position = 0;
    std::size_t n = 0;

    static std::size_t run(const auto&) { return 0; }
    bool visit(PyObject* key, PyObject* value) {
        PyObject* next_key = nullptr;
        PyObject* next_value = nullptr;
        ++n;
        return PyDict_Next(dict, &position, &next_key, &next_value) && key == next_key &&
               value == next_value;
    }
};

// Whether the layout is what it is taken to be.
inline bool probe_layout() {
#ifdef DRIFTSIEVE_DICT_LAYOUT
    nanobind::dict strings;
    nanobind::dict numbers;
    for (int i = 0; i < 300; ++i) {  // beyond 256 entries the table before them is wider
        numbers[nanobind::int_(i)] = nanobind::float_(i + 0.5);
        strings[nanobind::str(nanobind::int_(i))] = nanobind::float_(i + 0.5);
        if (i % 100 != 0 && i != 299) continue;
        Comparison of_numbers{.dict = numbers.ptr()};
        Comparison of_strings{.dict = strings.ptr()};
        if (layout_of(numbers.ptr()) != Layout::any_keys ||
            layout_of(strings.ptr()) != Layout::string_keys ||
            !walk_stored<3>(numbers.ptr(), of_numbers) ||
            !walk_stored<2>(strings.ptr(), of_strings) || of_numbers.n != nanobind::len(numbers) ||
            of_strings.n != nanobind::len(strings))
            return false;
    }
    return true;
#else
    return false;
#endif
}

}  // namespace driftsieve::bind
