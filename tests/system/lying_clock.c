/* To be preloaded: a clock that lies, as LYING_CLOCK says.
     still   stands still
     coarse  moves in steps of 10 ms
     back    every third answer is two seconds too early */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* at) {
  static int (*honest)(clockid_t, struct timespec*);
  static unsigned long calls;
  const char* how = getenv("LYING_CLOCK");
  int result;
  if (honest == NULL)
    honest = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  result = honest(clock, at);
  if (result != 0 || how == NULL) return result;
  if (strcmp(how, "still") == 0) {
    at->tv_sec = 5000;
    at->tv_nsec = 0;
  } else if (strcmp(how, "coarse") == 0) {
    at->tv_nsec = at->tv_nsec / 10000000 * 10000000;
  } else if (strcmp(how, "back") == 0 && ++calls % 3 == 0) {
    at->tv_sec -= 2;
  }
  return result;
}
