#include <cstdlib>
#include <stdexcept>
#include <string>

#include "driftsieve/kernels.hpp"
#ifdef DRIFTSIEVE_X86
#include <cpuid.h>
#endif

namespace driftsieve {

namespace baseline {
extern const Kernels kernels;
}
#ifdef DRIFTSIEVE_X86
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

#ifdef DRIFTSIEVE_X86
namespace {

/**
 * Level of x86-64 that processor and operating system have: 4, 3 or less. __builtin_cpu_supports
 * would do, but not every compiler's runtime library has what it calls.
 */
int x86_level() {
    constexpr unsigned v3_of_1 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
    constexpr unsigned v3_of_7 = bit_BMI | bit_AVX2 | bit_BMI2;
    constexpr unsigned v4_of_7 =
        bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    unsigned a = 0, b = 0, c_of_1 = 0, b_of_7 = 0, c_of_extended = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c_of_1, &d) || !__get_cpuid_count(7, 0, &a, &b_of_7, &c, &d) ||
        !__get_cpuid(0x80000001, &a, &b, &c_of_extended, &d))
        return 1;
    if ((c_of_1 & v3_of_1) != v3_of_1 || (b_of_7 & v3_of_7) != v3_of_7 ||
        !(c_of_extended & bit_LZCNT))
        return 1;
    unsigned saved = 0;  // the registers that the operating system saves
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    constexpr unsigned avx = 0x06, avx512 = 0xe6;
    if ((saved & avx) != avx) return 1;
    return (b_of_7 & v4_of_7) == v4_of_7 && (saved & avx512) == avx512 ? 4 : 3;
}

}  // namespace
#endif

const Kernels* kernels_named(std::string_view name) {
    if (name == baseline::kernels.name) return &baseline::kernels;
#ifdef DRIFTSIEVE_X86
    static const int level = x86_level();
    if (level >= 3 && name == avx2::kernels.name) return &avx2::kernels;
    if (level >= 4 && name == avx512::kernels.name) return &avx512::kernels;
#endif
    return nullptr;
}

namespace {

const Kernels& pick() {
    const char* wanted = std::getenv("DRIFTSIEVE_SIMD");
    const std::string name = wanted == nullptr ? "" : wanted;
    for (const char* best : {"avx512", "avx2", "baseline"})
        if (name.empty() || name == best)
            if (const Kernels* found = kernels_named(best)) return *found;
    throw std::runtime_error(
        "DRIFTSIEVE_SIMD must be baseline, avx2 or avx512, and supported by this machine, got \"" +
        name + "\".");
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& picked = pick();
    return picked;
}

}  // namespace driftsieve
