/* A module that the dynamic linker takes, but that exports no mercer_plugin. */
int mercer_stranger(void);
int mercer_stranger(void) { return 1; }
