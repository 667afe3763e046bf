// Loops of our own run with the widest instructions of the machine they run on, not of the one
// that built them: the compiler makes one copy of a marked function per instruction set and the
// loader picks one. Sanitizers cannot run in that picking, and other architectures need none.

#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define PLIMSOLL_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLIMSOLL_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(PLIMSOLL_SANITIZED)
#define PLIMSOLL_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PLIMSOLL_WIDEST
#endif
