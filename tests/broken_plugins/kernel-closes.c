/* kernel-closes.c - its map closes file descriptors that it did not open. */
#include <unistd.h>

#include "hostile.h"

HOSTILE("closes", for (int fd = 3; fd < 256; fd++) close(fd))
