/* A shared library that the dynamic linker accepts, but that does not export mercer_plugin. */
int mercer_stranger(void);
int mercer_stranger(void) { return 1; }
