/* A process in which a chosen allocation or system call of the library fails. The definitions of malloc, operator new, open and
 * so on in this executable come before those of the C and C++ libraries for everything in the process, so that nothing of
 * the library needs to know. What BLAS, OpenMP and the dynamic linker ask for is theirs: they end the process where it fails. */
#ifndef MERCER_TESTS_FAULTS_H
#define MERCER_TESTS_FAULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ALLOCATION, CALL };             /* kinds */
enum { SHORT_COUNT = -1, DEPTH = 40 }; /* in place of an errno: half of what was asked for */

struct fault {
    int kind;
    int lasting; /* 1: and all that follow, until the library's function returns */
    int64_t nth; /* from 1; 0: none fails */
    int error;   /* of a system call */
    int reserved;
};

void faults_begin(void);                    /* once, before any other */
void faults_arm(const struct fault *fault); /* counts from 0 again */
void faults_watch(int on); /* around the library's functions; a fault that was met is over at the end */

/* Where each allocation comes from, as a number, into to[0], to[1] ... until there is no more room; NULL: not any longer. */
void faults_note_places(uint64_t *to, int64_t room);

/* Since it was armed: the fault was met; by what (a function's name); the addresses it was called from. */
int faults_met(void);
const char *faults_name(void);
int faults_hid_a_folder(void); /* by a call that says what is in it: plugins are not found */
int faults_stack(void *const **addresses);
int64_t faults_seen(int kind);

int64_t faults_live(void); /* blocks that are allocated */
void faults_trace(int on); /* remembers who allocates, from now on */
void faults_print_lost(void);

/* For the definitions: does this one fail? An errno or SHORT_COUNT; 0: no. */
int faults_strike(int kind, const char *name, const void *caller);

#ifdef __cplusplus
}
#endif
#endif
