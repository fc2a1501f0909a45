/* kernel-closes.c - closes descriptors that it never opened. */
#include <unistd.h>

#include "hostile.h"

HOSTILE("closes", for (int fd = 3; fd < 256; fd++) close(fd))
