/* A GPU driver library that is only good for failing in a chosen way.
     LAME_DRIVER_CODE     what every call answers (100: no device)
     LAME_DRIVER_VERSION  the CUDA version that it claims to support (13000 is 13.0) */
#include <stdlib.h>
#include <string.h>

static int setting(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : atoi(text);
}

static int answer(void) { return setting("LAME_DRIVER_CODE", 100); }

int cuInit(unsigned flags) {
  (void)flags;
  return answer();
}

int cuDriverGetVersion(int* version) {
  *version = setting("LAME_DRIVER_VERSION", 13000);
  return 0;
}

/* A count that nobody may believe, since the call fails. */
int cuDeviceGetCount(int* count) {
  *count = 7;
  return answer();
}

int cuGetErrorName(int code, const char** name) {
  (void)code;
  *name = "LAME";
  return 0;
}

int cuGetErrorString(int code, const char** text) {
  (void)code;
  *text = "lame driver";
  return 0;
}

int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = NULL;
  return 1;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long flags,
                        int* found) {
  static const struct {
    const char* name;
    void* function;
  } table[] = {{"cuInit", (void*)cuInit},
               {"cuDriverGetVersion", (void*)cuDriverGetVersion},
               {"cuDeviceGetCount", (void*)cuDeviceGetCount},
               {"cuGetErrorName", (void*)cuGetErrorName},
               {"cuGetErrorString", (void*)cuGetErrorString},
               {"cuGetExportTable", (void*)cuGetExportTable},
               {"cuGetProcAddress", (void*)cuGetProcAddress_v2}};
  (void)version;
  (void)flags;
  *function = (void*)answer;
  for (unsigned i = 0; i < sizeof table / sizeof table[0]; ++i)
    if (strcmp(table[i].name, name) == 0) *function = table[i].function;
  if (found != NULL) *found = 0;
  return 0;
}

int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
