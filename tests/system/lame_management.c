/* A GPU management library that refuses to start.
     LAME_MANAGEMENT_CODE  what every call answers (18: driver and library versions differ) */
#include <stdlib.h>

static int answer(void) {
  const char* text = getenv("LAME_MANAGEMENT_CODE");
  return text == NULL ? 18 : atoi(text);
}

int nvmlInit_v2(void) { return answer(); }
int nvmlShutdown(void) { return answer(); }
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  if (length > 0) text[0] = '\0';
  return answer();
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 5;
  return answer();
}
const char* nvmlErrorString(int code) {
  (void)code;
  return "lame management library";
}
